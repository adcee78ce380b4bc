/** When CNFSets and CNFs are written: in rounds, some seconds apart for a CNFDeployment. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isOutdated } from '#shared/kube/errors.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { isSettled } from '../decide.ts';
import type { MirrorView } from './objects.ts';

/** Between two rounds of writes for a CNFDeployment. */
export const PACE_MS = 2_000;
/**
 * The same while a roll-out is under way, and for how long a stage must last to be written: each is
 * in the status of the CNFDeployment at once.
 */
const ROLLING_MS = 10_000;
/** The same for what the end of a soak changes. Most are shorter: the default is 30 s. */
const SOAKING_MS = 60_000;
/** After an error, e.g. while their CRDs are not there yet. */
const FAILED_MS = 15_000;

export type Writer = Pick<KubeClient, 'create' | 'patch' | 'delete'>;
/** Milliseconds until objects may be changed; `passing`: what the end of a soak changes anyway. */
type Paces = { changes: number; passing: number };

export const createRounds = ({
  client,
  clock,
  log,
  isReady,
}: {
  client: Writer;
  clock: Clock;
  log: Logger;
  /** What there is is known. */
  isReady: () => boolean;
}) => {
  const wroteAt = new Map<string, number>();

  /**
   * Rounds of which nothing is left to write cost nothing; the first write of one that comes too
   * soon ends it. `pacesOf`: by how long ago the last write was.
   */
  const round = async (
    key: string,
    pacesOf: (sinceMs: number) => Paces,
    write: (writer: Writer, passing: Writer) => Promise<void>,
    signal: AbortSignal,
  ): Promise<number | undefined> => {
    if (!isReady()) return PACE_MS;
    const sinceMs = clock.monotonic() - (wroteAt.get(key) ?? -Infinity);
    const [paceInMs, { changes, passing }] = [paced(sinceMs), pacesOf(sinceMs)];
    const due = async <R>(inMs: number, call: () => Promise<R>): Promise<R> => {
      if (inMs > 0) throw new TooSoonError(inMs);
      wroteAt.set(key, clock.monotonic());
      return call();
    };
    const writerIn = (changeInMs: number): Writer => ({
      create: (resource, body, call) => due(paceInMs, () => client.create(resource, body, call)),
      patch: (resource, at, call) => due(changeInMs, () => client.patch(resource, at, call)),
      delete: (resource, at, call) => due(paceInMs, () => client.delete(resource, at, call)),
    });
    try {
      await write(writerIn(changes), writerIn(passing));
      return undefined;
    } catch (err) {
      if (err instanceof TooSoonError) return err.waitMs;
      if (signal.aborted || isOutdated(err)) return PACE_MS;
      log.warn({ err, cnfDeployment: key }, 'failed to write CNFSets and CNFs, retrying');
      return FAILED_MS;
    }
  };

  return { round, forget: (key: string) => wroteAt.delete(key) };
};

/** By how long ago the last write was. */
export const pacesFor =
  (cnf: CnfDeployment, view: MirrorView) =>
  (sinceMs: number): Paces =>
    isSettled(view.step) ? alike(sinceMs) : rolling(cnf, view, sinceMs);

/** Also of a write that another has overtaken. */
export class TooSoonError extends Error {
  readonly waitMs: number;
  constructor(waitMs: number) {
    super();
    this.waitMs = waitMs;
  }
}

const paced = (sinceMs: number): number => PACE_MS - sinceMs;

export const alike = (sinceMs: number): Paces => ({
  changes: paced(sinceMs),
  passing: paced(sinceMs),
});

const rolling = ({ status }: CnfDeployment, { now, step }: MirrorView, sinceMs: number): Paces => {
  const begun = status?.stage === step.stage && status.stageTime;
  const lastsMs = begun ? now - Date.parse(begun) : 0;
  const changes = ROLLING_MS - Math.min(sinceMs, lastsMs);
  return { changes, passing: step.stage === 'Soaking' ? SOAKING_MS - lastsMs : changes };
};
