/**
 * Keeps the table of policies in the kernel as the coordinator asks for it: writes what has
 * changed, looks every few seconds whether it is still there, and reports of each PolicyEnforcement
 * what was read back. A loop of its own: a change takes no reload and waits for none.
 */
import type { RuleReport } from '#shared/protocol/report.ts';
import { jittered } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { createTrigger } from '#shared/runtime/trigger.ts';
import { OpenwrtError, OpenwrtUnreachableError, type Policies } from '../openwrt/driver.ts';
import type { Denials } from './denials.ts';
import { createKernelTable, type KernelTableDeps, type TableState } from './kernel-table.ts';
import { policyReport, type ReadNow } from './reports.ts';
import type { PolicySource } from './source.ts';

export type PolicyLoopDeps = KernelTableDeps & {
  source: Pick<PolicySource, 'isKnown'>;
  /** Undefined: the API of this OpenWRT has nothing of the kind, or it is not known yet. */
  policies: () => Policies | undefined;
  /** Whether OpenWRT was reached: before that it is not known what it supports. */
  isReached: () => boolean;
  paused: () => boolean;
  /** What is reported may have changed. */
  onChange: () => void;
  denials: Pick<Denials, 'add'>;
  clock: Clock;
};

export type PolicyLoop = {
  mark: () => void;
  /** OpenWRT was reached: what waits for that goes on at once. */
  onReached: () => void;
  reports: (now: ReadNow) => RuleReport[];
  run: (signal: AbortSignal) => Promise<void>;
};

/** What comes together is one transaction of nft. */
const COALESCE_MS = 10;
const LOOK_MS = 3_000;
const JITTER = 0.1;
/** What is denied is for people's graphs: to read it takes as long as to list the whole table. */
const COUNT_MS = 30_000;
/** Between tries without OpenWRT or a session: the loop of passes is about to log in. */
const NO_SESSION_MS = 250;
const BACKOFF = { baseMs: 250, maxMs: 10_000 };

export const createPolicyLoop = (deps: PolicyLoopDeps): PolicyLoop => {
  const { clock, denials, isReached, log, onChange, paused, policies, source } = deps;
  const table = createKernelTable(deps);
  let problem = '';
  let lookAt = 0;
  let countAt = 0;
  /** Nothing could be done because OpenWRT was not reached. */
  let isWaiting = false;

  const bring = async (signal: AbortSignal): Promise<void> => {
    // A CNF that enforces nothing costs its OpenWRT one look.
    if (isIdle(table.now())) return;
    const device = policies();
    if (device === undefined) {
      isWaiting = !isReached();
      lookAt = clock.monotonic() + (isReached() ? LOOK_MS : NO_SESSION_MS);
      table.setUnsupported(isReached() ? 'the API of this OpenWRT has no nft' : undefined);
      return;
    }
    if (table.now().held === undefined || clock.monotonic() >= lookAt) {
      await table.look(device, signal);
      lookAt = clock.monotonic() + jittered(LOOK_MS, JITTER);
    }
    if (table.now().unsupported === undefined && !paused()) await table.load(device, signal);
  };

  /** Counts of the table that this agent has loaded: what an earlier one has counted is not new. */
  const count = async (signal: AbortSignal): Promise<void> => {
    const device = policies();
    const isLoaded = table.now().held?.table !== undefined;
    if (!isLoaded || device === undefined || clock.monotonic() < countAt) return;
    countAt = clock.monotonic() + jittered(COUNT_MS, JITTER);
    const counters = await device.denied(signal);
    if (counters) denials.add(counters);
  };

  const trigger = createTrigger({
    delayMs: COALESCE_MS,
    backoff: BACKOFF,
    clock,
    run: async (signal) => {
      if (!source.isKnown()) return LOOK_MS;
      isWaiting = false;
      table.want();
      try {
        await bring(signal);
        problem = '';
        await count(signal);
        return isIdle(table.now()) ? undefined : Math.max(COALESCE_MS, lookAt - clock.monotonic());
      } catch (error) {
        if (!(error instanceof OpenwrtError)) throw error;
        problem = messageOf(error);
        isWaiting = error instanceof OpenwrtUnreachableError;
        if (isWaiting) return NO_SESSION_MS;
        throw error;
      } finally {
        onChange();
      }
    },
    onError: (error, retryInMs) =>
      log.warn(
        { err: error, retryInMs: Math.round(retryInMs) },
        'failed to bring the table of policies to the kernel, retrying',
      ),
  });

  return {
    mark: () => {
      table.changed();
      trigger.mark(Math.max(COALESCE_MS, table.loadAt() - clock.monotonic()));
    },
    onReached: () => {
      if (isWaiting) trigger.mark(0);
    },
    reports: (now) => {
      const standing = { ...table.now(), paused: paused(), problem };
      return source.enforcements().map((object) => policyReport(object, standing, now));
    },
    run: async (signal) => {
      trigger.mark(0);
      await trigger.start(signal);
    },
  };
};

const isIdle = ({ wanted, unsupported, held }: TableState): boolean =>
  wanted.table === undefined &&
  (unsupported !== undefined || (held !== undefined && held.table === undefined));
