/**
 * What tags stand for, asked again when an answer is old. Nothing waits for a look-up: its answer
 * leads to another look at the CNFDeployment.
 */
import { createBackoff, type Backoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { Recent } from '#shared/util/recent.ts';
import { RegistryError, type DigestOf } from './registry.ts';

export type TagAnswer = { digest: string } | { reason: string; message: string };

export type LookUp = {
  /** Undefined: there is none yet. */
  answer: TagAnswer | undefined;
  /** When it is asked again, monotonic; Infinity: it is being asked. */
  againAt: number;
};

export type LookUps = {
  /** What is known of the image, and has it asked where that has run out. */
  get: (image: string, by: Asker) => LookUp;
};

type Asker = { namespace: string; onAnswer: () => void; signal: AbortSignal };

type Known = LookUp & { backoff: Backoff };

/** How long an answer holds. */
const HOLDS_MS = 300_000;
const RETRY = { baseMs: 20_000, maxMs: HOLDS_MS };
const MAX_TAGS = 1_024;

export const createLookUps = ({
  clock,
  digestOf,
  log,
}: {
  clock: Clock;
  digestOf: DigestOf;
  log: Logger;
}): LookUps => {
  const known = new Recent<Known>({ most: MAX_TAGS });

  const ask = async (image: string, of: Known, by: Asker): Promise<void> => {
    of.againAt = Infinity;
    let holdsMs = HOLDS_MS;
    try {
      of.answer = { digest: await digestOf(image, by) };
      of.backoff.reset();
    } catch (err) {
      if (!by.signal.aborted) log.info({ image, err }, 'failed to look up what a tag stands for');
      const { reason, message } =
        err instanceof RegistryError
          ? err
          : { reason: 'RegistryUnreachable', message: 'no answer' };
      of.answer = { reason, message: `${image}: ${message}` };
      holdsMs = by.signal.aborted ? 0 : of.backoff.next();
    }
    of.againAt = clock.monotonic() + holdsMs;
    by.onAnswer();
  };

  return {
    get: (image, by) => {
      // One that is refused on behalf of a namespace, for its many look-ups, is so for it alone.
      const key = `${by.namespace} ${image}`;
      const of = known.get(key) ?? {
        answer: undefined,
        againAt: -Infinity,
        backoff: createBackoff(RETRY),
      };
      known.set(key, of);
      if (of.againAt <= clock.monotonic()) void ask(image, of, by);
      return of;
    },
  };
};
