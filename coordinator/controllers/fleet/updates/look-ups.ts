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

type Known = LookUp & { backoff: Backoff; asking: Promise<void> | undefined };

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
    let holdsMs = HOLDS_MS;
    try {
      of.answer = { digest: await digestOf(image, by) };
      of.backoff.reset();
    } catch (err) {
      // The end of a term says nothing of the tag.
      if (by.signal.aborted) return;
      log.info({ image, err }, 'failed to look up what a tag stands for');
      const { reason, message } =
        err instanceof RegistryError
          ? err
          : { reason: 'RegistryUnreachable', message: 'no answer' };
      of.answer = { reason, message: `${image}: ${message}` };
      holdsMs = of.backoff.next();
    }
    of.againAt = clock.monotonic() + holdsMs;
  };

  return {
    get: (image, by) => {
      // One that is refused on behalf of a namespace, for its many look-ups, is so for it alone.
      const key = `${by.namespace} ${image}`;
      const of = known.get(key) ?? {
        answer: undefined,
        againAt: -Infinity,
        backoff: createBackoff(RETRY),
        asking: undefined,
      };
      known.set(key, of);
      if (of.againAt > clock.monotonic()) return of;
      of.asking ??= ask(image, of, by).finally(() => {
        of.asking = undefined;
      });
      void of.asking.then(by.onAnswer);
      return { answer: of.answer, againAt: Infinity };
    },
  };
};
