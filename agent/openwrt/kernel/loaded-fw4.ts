/** Table `inet fw4`, read each minute and after our reloads, and what it lacks of the package. */
import { createHash } from 'node:crypto';
import type { Clock } from '#shared/runtime/clock.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { found } from './calls.ts';
import { lackingRules, nftRulesIn, type NftRules } from './nft-rules.ts';
import { withoutHandles } from './listing.ts';
import { sameAgain, THOROUGH_LOOK_MS, type Ask, type Look } from './look.ts';
import type { Compared } from './sections.ts';

/** Table `inet fw4` as it was listed last. */
export type LoadedTable = {
  /** By nft, with handles. */
  text: string;
  rules: NftRules;
  /** As the firewall's last change by us has left them, or as they were first seen. */
  expected: NftRules;
};

type TableLook = {
  isDue: () => boolean;
  read: (look: Look) => Promise<void>;
  /** `listed`: the table, where it has just been. */
  reloaded: (listed?: string) => void;
  compare: (firewall: readonly UciSection[]) => Compared;
  table: () => LoadedTable | undefined;
};

export const createTableLook = (ask: Ask, clock: Pick<Clock, 'monotonic'>): TableLook => {
  let last = { at: -Infinity, hash: '', text: '', rules: new Map() as NftRules };
  /** As they were after the firewall's last reload by us, or first seen. */
  let expected: NftRules | undefined;
  const lacking = sameAgain(lackingRules);
  const hold = (hash: string, text: string): void => {
    const rules = nftRulesIn(withoutHandles(text));
    last = { at: clock.monotonic(), hash, text, rules };
  };
  return {
    isDue: () => clock.monotonic() - last.at >= THOROUGH_LOOK_MS,
    read: async (look) => {
      const dump = await ask(look, 'dump');
      if (dump === undefined) return;
      const { hash } = dump;
      if (hash === last.hash) last = { ...last, at: clock.monotonic() };
      else hold(hash, await found(look.session, hash, look.signal));
      expected ??= last.rules;
    },
    reloaded: (listed) => {
      expected = undefined;
      last = { ...last, at: -Infinity };
      if (listed === undefined) return;
      hold(createHash('md5').update(listed).digest('hex'), listed);
      expected = last.rules;
    },
    compare: (firewall) => lacking(firewall, expected, last.rules),
    table: () => expected && { text: last.text, rules: last.rules, expected },
  };
};
