/** What mwan3 has loaded, read each minute and after our reloads, and what its package lacks. */
import type { Clock } from '#shared/runtime/clock.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { found } from './calls.ts';
import { sameAgain, THOROUGH_LOOK_MS, type Ask, type Look } from './look.ts';
import { compareMwan3, type Mwan3Compared } from './mwan3-compare.ts';
import { readMwan3 } from './mwan3-read.ts';
import { allLack, type Compared } from './sections.ts';

/** `passes`: what it has loaded is not known yet. */
export type Mwan3Found = Compared & Partial<Mwan3Compared> & { passes: boolean };

type Mwan3Look = {
  /** So many hooks of mwan3's are in the kernel. */
  hooksSeen: (count: number) => void;
  isDue: (look: Look) => boolean;
  read: (look: Look) => Promise<void>;
  reloaded: () => void;
  compare: (mwan3: readonly UciSection[]) => Mwan3Found;
};

type Seen = {
  at: number;
  hash: string;
  /** Undefined: the agent has not looked yet, or mwan3 was being reloaded each time it did. */
  text: string | undefined;
  /** What `text` is compared with until it is read again; undefined: the package as read next. */
  sections: readonly UciSection[] | undefined;
};

const NOT_LOOKED: Seen = { at: -Infinity, hash: '', text: undefined, sections: undefined };

export const createMwan3Look = (ask: Ask, clock: Pick<Clock, 'monotonic'>): Mwan3Look => {
  let seen = NOT_LOOKED;
  let hooks = 0;
  /** As they were after mwan3's last reload by us, or first seen. */
  let expectedHooks: number | undefined;
  const lacking = sameAgain(lackingMwan3);
  return {
    hooksSeen: (count) => {
      hooks = count;
      expectedHooks ??= count;
    },
    isDue: ({ contents }) => {
      const now = contents('mwan3');
      // Until the packages are read, its hooks tell whether there is anything to look for.
      if (hooks === 0 && now.length === 0) return false;
      const hasChanged = seen.sections !== undefined && seen.sections !== now;
      return hasChanged || clock.monotonic() - seen.at >= THOROUGH_LOOK_MS;
    },
    read: async (look) => {
      const answer = await ask(look, 'mwan3');
      if (answer === undefined) return;
      const { hash } = answer;
      const isKnown = hash === '' || hash === seen.hash;
      const text = isKnown ? seen.text : await found(look.session, hash, look.signal);
      // One that is being reloaded is looked at again as soon as may be.
      seen = { at: hash === '' ? -Infinity : clock.monotonic(), hash, text, sections: undefined };
    },
    reloaded: () => {
      expectedHooks = undefined;
      seen = NOT_LOOKED;
    },
    compare: (mwan3) => {
      const { sections = mwan3, text } = seen;
      seen = { ...seen, sections };
      const compared =
        hooks >= (expectedHooks ?? 0)
          ? lacking(sections, text)
          : allLack(sections, "mwan3's rules in nft");
      return { ...compared, passes: text === undefined };
    },
  };
};

const lackingMwan3 = (sections: readonly UciSection[], text: string | undefined): Mwan3Compared =>
  compareMwan3(sections, () => {
    if (text === undefined) throw new Error('mwan3 is being reloaded');
    return readMwan3(text);
  });
