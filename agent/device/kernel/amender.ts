/**
 * Puts a change of package firewall into force without a reload, where only rules change. fw4 makes the nft rules of an excerpt, nft
 * prints them in its own words, and those that differ are exchanged in the loaded table by their handles, in one transaction, which is
 * read back. Whatever is in doubt is left to the reload. After the first quiet minute fw4's whole ruleset is compared with the table; if
 * they differ, the table is reloaded, and this agent amends no more.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { formatPackage } from '#shared/uci/format.ts';
import { OpenwrtError, type FirewallWays } from '../driver.ts';
import { blindness, readReload, type ReloadVerdict } from '../services/fw4.ts';
import type { UbusSession } from '../ubus/client/session.ts';
import { writeFile } from '../ubus/write/staging.ts';
import type { Base } from '../ubus/write/write-path.ts';
import { amendmentOf, isSame, textsOf, type Amendment, type Step } from './amendment.ts';
import { found, runVerb } from './calls.ts';
import { excerptOf, type Excerpt } from './excerpt.ts';
import { goneRules, nftRulesIn, type NftRules } from './firewall.ts';
import { EXCERPT_FILES, STEPS_FILE, type Verb } from './helper.ts';
import { listingIn, withoutHandles } from './listing.ts';

type Device = { session: UbusSession; signal: AbortSignal };
type Change = Device & { before: Base; after: Base };

export type Amender = {
  /** What a reload would have said, once the change is in force; undefined: a reload has to bring it. @throws OpenwrtError */
  amend: (change: Change) => Promise<ReloadVerdict | undefined>;
  /** A reload has put it into force. */
  reloaded: (change: Pick<Change, 'before' | 'after'>, verdict: ReloadVerdict) => void;
  /** Compares the whole ruleset with the loaded one, when that is due. `version`: of the package now. @throws OpenwrtError */
  check: (device: Device, version: string | undefined) => Promise<void>;
  /** They differ, and no reload has come since. */
  isDoubtful: () => boolean;
  ways: () => FirewallWays;
};

export type AmenderOptions = {
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
  /** What the table holds unless somebody else has changed it; undefined where nobody looks. */
  nftRules: () => NftRules | undefined;
};

const QUIET_MS = 60_000;
/** firewall4 b6e5157, the one on which the commands were seen to come to the same as a reload (docs/firewall4.md). */
const PROVEN: ReadonlySet<string> = new Set(['9e770e36feede41536725bcf812103a8']);
const FW4_TABLE = /^table inet fw4 \{[^]*?^\}\n/m;

export const createAmender = ({ clock, log, nftRules }: AmenderOptions): Amender => {
  /** The version of the package that the loaded table is of, and what fw4 said of it. */
  let inForce: { version: string; verdict: ReloadVerdict } | undefined;
  let checkAt = Infinity;
  let isDoubtful = false;
  /** Why this agent amends no more. */
  let stopped: string | undefined;
  const ways = { amended: 0, reloaded: 0, different: 0 };

  /** @throws OpenwrtError */
  const carriedOut = async ({ before, after, ...device }: Change): Promise<Excerpt | undefined> => {
    const inNft = nftRules();
    const excerpt = inNft && excerptOf(before.content, after.content);
    if (inNft === undefined || excerpt === undefined) return undefined;
    await put(device, EXCERPT_FILES.before, formatPackage(excerpt.before));
    await put(device, EXCERPT_FILES.after, formatPackage(excerpt.after));
    const seen = partsOf(await look(device, 'render'));
    const loaded = FW4_TABLE.exec(seen.tables)?.[0] ?? '';
    const now = nftRulesIn(withoutHandles(loaded));
    const isTouched = goneRules(inNft, now).length > 0 || goneRules(now, inNft).length > 0;
    if (!isTrusted(seen) || isTouched) return undefined;
    const amendment = amendmentOf({
      excerpt,
      after: after.content,
      rendered: {
        before: listingIn(tableIn(seen.tables, 'sdewan_before')),
        after: listingIn(tableIn(seen.tables, 'sdewan_after')),
      },
      loaded: listingIn(loaded),
    });
    return amendment && (await carryOut(device, loaded, amendment)) ? excerpt : undefined;
  };
  /** Where it fails, so does the reload, or it puts right what has been left. */
  const tryToAmend = async (change: Change): Promise<Excerpt | undefined> => {
    try {
      return await carriedOut(change);
    } catch (error) {
      if (!(error instanceof OpenwrtError)) throw error;
      log.debug({ err: error }, 'the change is not made without a reload');
      return undefined;
    }
  };

  return {
    amend: async (change) => {
      const { before, after } = change;
      if (after.content.name !== 'firewall') return undefined;
      const known = inForce;
      inForce = undefined;
      if (stopped !== undefined || known?.version !== before.version) return undefined;
      const excerpt = await tryToAmend(change);
      if (excerpt === undefined) return undefined;
      const unchanged = [...known.verdict.warnings].filter(
        ([section]) => !excerpt.changed.has(section),
      );
      const verdict = { ...known.verdict, warnings: new Map(unchanged) };
      inForce = { version: after.version, verdict };
      checkAt = clock.monotonic() + QUIET_MS;
      ways.amended += 1;
      return verdict;
    },
    reloaded: ({ before, after }, verdict) => {
      if (after.content.name !== 'firewall') return;
      checkAt = Infinity;
      isDoubtful = false;
      inForce = verdict.refusal === undefined ? { version: after.version, verdict } : undefined;
      if (before.version !== after.version) ways.reloaded += 1;
    },
    check: async ({ session, signal }, version) => {
      if (clock.monotonic() < checkAt) return;
      checkAt = Infinity;
      // What somebody else has written is not in force yet, so nothing can be said.
      if (version !== inForce?.version) return;
      const answer = await runVerb(session, 'compare', signal);
      const difference = 'whyNot' in answer ? answer.whyNot : answer.stdout.trim();
      if (difference === '') return;
      stopped = difference;
      isDoubtful = true;
      log.warn(
        { difference },
        'the rules in nft are not those that firewall4 makes of its package: reloading the firewall; until the agent restarts, each change of the firewall is a reload',
      );
      ways.different += 1;
    },
    isDoubtful: () => isDoubtful,
    ways: () => ways,
  };
};

const put = ({ session, signal }: Device, path: string, text: string): Promise<void> =>
  writeFile(session, { path, text, mode: 0o600 }, signal);

const HASH = /^[0-9a-f]{32}/;

/** What the verb has left; '' where it refuses. */
const look = async ({ session, signal }: Device, verb: Verb): Promise<string> => {
  const answer = await runVerb(session, verb, signal);
  const [hash] = ('stdout' in answer && HASH.exec(answer.stdout)) || [];
  return hash === undefined ? '' : found(session, hash, signal);
};

type Seen = { fw4: string; included: string; said: string; tables: string };

const partsOf = (text: string): Seen => {
  const part = (name: string): string => {
    const begin = text.indexOf(`== ${name}\n`);
    const end = text.indexOf('\n== ', begin);
    return begin === -1 ? '' : text.slice(begin + name.length + 4, end === -1 ? undefined : end);
  };
  return {
    fw4: part('fw4').slice(0, 32),
    included: part('included'),
    said: part('said'),
    tables: part('tables'),
  };
};

/** A version of fw4 that is known, with nothing beside it in the table, that has no complaint. */
const isTrusted = ({ fw4, included, said }: Seen): boolean => {
  const { warnings, refusal } = readReload(said, []);
  return (
    PROVEN.has(fw4) &&
    included.trim() === '' &&
    warnings.size === 0 &&
    refusal === undefined &&
    blindness(said) === undefined
  );
};

const tableIn = (text: string, name: string): string => {
  const begin = text.indexOf(['table inet', name, '{'].join(' '));
  return begin === -1 ? '' : text.slice(begin, text.indexOf('\n}', begin) + 2);
};

const carryOut = async (
  device: Device,
  loaded: string,
  { steps, expected }: Amendment,
): Promise<boolean> => {
  const md5 = createHash('md5').update(loaded).digest('hex');
  await put(device, STEPS_FILE, [md5, ...steps.map(lineOf), ''].join('\n'));
  const { chains } = listingIn(await look(device, 'amend'));
  return isSame(textsOf([...chains].map(([name, { rules }]) => [name, rules])), expected);
};

const lineOf = (step: Step): string =>
  [step.verb, step.chain, step.handle, ...(step.verb === 'delete' ? [] : [step.place])].join(' ');
