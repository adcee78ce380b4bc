/**
 * Puts a change of package firewall into force without a reload, where only rules change. fw4 makes
 * the nft rules of an excerpt while the package is written, and those that differ are exchanged in
 * the loaded table by their handles, in one transaction. Then the whole table is read back, and
 * nft's own words for the excerpt. Whatever is in doubt is left to the reload. After the first
 * quiet minute fw4's whole ruleset is compared with the table; if they differ, the table is
 * reloaded, and this agent amends no more.
 */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import { formatPackage } from '#shared/uci/format.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { OpenwrtError, type FirewallWays } from '../driver.ts';
import { blindness, readReload, type ReloadVerdict } from '../services/fw4-reload.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import type { Base } from '../ubus/read/packages.ts';
import { isCarriedOut, stepsOf, type Step } from './amendment.ts';
import { found, runVerb, runVerbOn } from './calls.ts';
import { excerptOf, type Excerpt } from './excerpt.ts';
import { goneRules } from './nft-rules.ts';
import { EXCERPT_FILES, STEPS_FILE } from './helper.ts';
import type { LoadedTable } from './loaded-fw4.ts';
import { listingIn, printedIn } from './listing.ts';

type Device = { session: UbusSession; signal: AbortSignal };
type Change = Device & { before: Base; after: Base };

export type Amender = {
  /** Begins with what can be done before the package is as it is to be. `after`: as it will be. */
  prepare: (change: Device & { before: Base; after: UciPackage }) => void;
  /**
   * What a reload would have said, once the change is in force; undefined: a reload has to bring
   * it. @throws OpenwrtError
   */
  amend: (change: Change) => Promise<ReloadVerdict | undefined>;
  /** The table as the last change left it, listed by nft with handles; undefined after a reload. */
  left: () => string | undefined;
  /** A reload has put it into force. */
  reloaded: (change: Pick<Change, 'before' | 'after'>, verdict: ReloadVerdict) => void;
  /**
   * Compares the whole ruleset with the loaded one, when that is due. `version`: of the package
   * now. @throws OpenwrtError
   */
  check: (device: Device, version: string | undefined) => Promise<void>;
  /** They differ, and no reload has come since. */
  isDoubtful: () => boolean;
  ways: () => FirewallWays;
};

export type AmenderOptions = {
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
  /** Undefined where it is not watched. */
  table: () => LoadedTable | undefined;
};

const QUIET_MS = 60_000;
/** What is done before the change itself. */
type Prepared = { excerpt: Excerpt; steps: readonly Step[]; table: LoadedTable };
type Pending = { before: Base; after: UciPackage; work: Promise<Prepared | undefined> };
/** firewall4 b6e5157, whose commands were seen to equal a reload (docs/firewall4.md). */
const PROVEN: ReadonlySet<string> = new Set(['9e770e36feede41536725bcf812103a8']);

export const createAmender = ({ clock, log, table: loaded }: AmenderOptions): Amender => {
  /** The version of the package that the loaded table is of, and what fw4 said of it. */
  let inForce: { version: string; verdict: ReloadVerdict } | undefined;
  let checkAt = Infinity;
  let isDoubtful = false;
  /** Why this agent amends no more. */
  let stopped: string | undefined;
  let pending: Pending | undefined;
  let left: string | undefined;
  const ways = { amended: 0, reloaded: 0, different: 0 };

  /** Where it fails, so does the reload, or it puts right what has been left. */
  const orReload = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OpenwrtError)) throw error;
      log.debug({ err: error }, 'the change is not made without a reload');
      return undefined;
    }
  };

  return {
    prepare: ({ before, after, ...device }) => {
      if (after.name !== 'firewall') return;
      const earlier = pending?.work;
      pending = undefined;
      const table = loaded();
      if (stopped !== undefined || inForce?.version !== before.version || !table) return;
      const work = orReload(async () => {
        await earlier;
        return preparedFor(device, table, { before: before.content, after });
      });
      // Who does not come to ask for it is not told either.
      work.catch(() => undefined);
      pending = { before, after, work };
    },
    amend: async ({ before, after, ...device }) => {
      if (after.content.name !== 'firewall') return undefined;
      const [known, begun] = [inForce, pending];
      inForce = undefined;
      pending = undefined;
      left = undefined;
      const prepared = await begun?.work;
      if (!known || !prepared || begun?.before !== before) return undefined;
      if (!isSamePackage(begun.after, after.content)) return undefined;
      left = await orReload(() => carryOut(device, prepared));
      if (left === undefined) return undefined;
      const unchanged = [...known.verdict.warnings].filter(
        ([section]) => !prepared.excerpt.changed.has(section),
      );
      const verdict = { ...known.verdict, warnings: new Map(unchanged) };
      inForce = { version: after.version, verdict };
      checkAt = clock.monotonic() + QUIET_MS;
      ways.amended += 1;
      return verdict;
    },
    left: () => left,
    reloaded: ({ before, after }, verdict) => {
      if (after.content.name !== 'firewall') return;
      left = undefined;
      checkAt = Infinity;
      isDoubtful = false;
      inForce = verdict.refusal === undefined ? { version: after.version, verdict } : undefined;
      if (before.version !== after.version) ways.reloaded += 1;
    },
    check: async ({ session, signal }, version) => {
      if (clock.monotonic() < checkAt) return;
      checkAt = Infinity;
      // What another writer has written is not in force yet, so nothing can be said.
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

/** Anonymous sections have another id in another reading. */
const isSamePackage = (one: UciPackage, other: UciPackage): boolean =>
  one === other ||
  (one.sections.length === other.sections.length &&
    one.sections.every((section, at) => {
      const there = other.sections[at];
      const { anonymous } = section;
      return (
        there?.anonymous === anonymous &&
        sectionsEqual(anonymous ? { ...section, name: there.name } : section, there)
      );
    }));

/** Undefined where only a reload will do. @throws OpenwrtError */
const preparedFor = async (
  { session, signal }: Device,
  table: LoadedTable,
  { before, after }: { before: UciPackage; after: UciPackage },
): Promise<Prepared | undefined> => {
  const excerpt = excerptOf(before, after);
  if (excerpt === undefined) return undefined;
  const isTouched =
    goneRules(table.expected, table.rules).length > 0 ||
    goneRules(table.rules, table.expected).length > 0;
  if (isTouched) return undefined;
  const texts = {
    [EXCERPT_FILES.before]: formatPackage(excerpt.before),
    [EXCERPT_FILES.after]: formatPackage(excerpt.after),
  };
  const answer = await runVerbOn(session, texts, 'render', signal);
  if (!('stdout' in answer)) return undefined;
  const seen = partsOf(
    answer.stdout.startsWith('== ')
      ? answer.stdout
      : await whatWasLeft(answer, { session, signal }),
  );
  if (!isTrusted(seen)) return undefined;
  const printed = { before: printedIn(seen.before), after: printedIn(seen.after) };
  const steps = stepsOf({ excerpt, after, printed, loaded: listingIn(table.text) });
  return steps && { excerpt, steps, table };
};

const HASH = /^[0-9a-f]{32}/;

/** '' where there is nothing. */
const whatWasLeft = async (
  { stdout }: { stdout: string },
  { session, signal }: Device,
): Promise<string> => {
  const [hash] = HASH.exec(stdout) ?? [];
  return hash === undefined ? '' : found(session, hash, signal);
};

const part = (text: string, name: string): string => {
  const begin = text.indexOf(`== ${name}\n`);
  const end = text.indexOf('\n== ', begin);
  return begin === -1 ? '' : text.slice(begin + name.length + 4, end === -1 ? undefined : end + 1);
};

type Seen = Record<'fw4' | 'included' | 'said' | 'before' | 'after', string>;

const partsOf = (text: string): Seen => ({
  fw4: part(text, 'fw4').slice(0, 32),
  included: part(text, 'included'),
  said: part(text, 'said'),
  before: part(text, 'before'),
  after: part(text, 'after'),
});

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

const TABLE_HANDLE = /^table inet fw4 \{ # handle (\d+)$/m;

/** The table as it is then; undefined when it is not what a reload leaves. @throws OpenwrtError */
const carryOut = async (
  { session, signal }: Device,
  { steps, table }: Prepared,
): Promise<string | undefined> => {
  const [, handle = ''] = TABLE_HANDLE.exec(table.text) ?? [];
  const texts = { [STEPS_FILE]: [handle, ...steps.map(lineOf), ''].join('\n') };
  const answer = await runVerbOn(session, texts, 'amend', signal);
  if (!('stdout' in answer)) return undefined;
  const text = await whatWasLeft(answer, { session, signal });
  const listed = part(text, 'loaded');
  const isRight = isCarriedOut({
    steps,
    loaded: listingIn(table.text),
    made: listingIn(part(text, 'made')),
    now: listingIn(listed),
  });
  return isRight ? listed : undefined;
};

const lineOf = (step: Step): string =>
  [step.verb, step.chain, step.handle, ...(step.verb === 'delete' ? [] : [step.place])].join(' ');
