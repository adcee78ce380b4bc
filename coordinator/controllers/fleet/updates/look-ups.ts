/** What tags stand for, as their registries say. */
import { Answers } from '#shared/runtime/answers.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { RegistryError, type DigestOf } from './registry.ts';

export type TagAnswer = { digest: string } | { reason: string; message: string };

export type LookUps = {
  /**
   * What is known of the image, and has it asked where that has run out. `answer` undefined: there
   * is none yet. `againInMs`: until it is asked again; Infinity: it is being asked.
   */
  get: (image: string, by: Asker) => { answer: TagAnswer | undefined; againInMs: number };
};

type Asker = { namespace: string; onAnswer: () => void; signal: AbortSignal };

const RETRY = { baseMs: 20_000, maxMs: 300_000 };
const MAX_TAGS = 1_024;

export const createLookUps = ({
  clock,
  digestOf,
  holdsMs,
  log,
}: {
  clock: Clock;
  digestOf: DigestOf;
  /** How long an answer holds. */
  holdsMs: number;
  log: Logger;
}): LookUps => {
  const answers = new Answers<TagAnswer>({ clock, most: MAX_TAGS, retry: RETRY });

  const ask = async (
    image: string,
    by: Asker,
  ): Promise<{ answer: TagAnswer; holdsMs: number | undefined }> => {
    try {
      return { answer: { digest: await digestOf(image, by) }, holdsMs };
    } catch (err) {
      if (!by.signal.aborted) log.info({ image, err }, 'failed to look up what a tag stands for');
      const { reason, message } =
        err instanceof RegistryError
          ? err
          : { reason: 'RegistryUnreachable', message: 'no answer' };
      return { answer: { reason, message: `${image}: ${message}` }, holdsMs: undefined };
    }
  };

  return {
    // One that is refused on behalf of a namespace, for its many look-ups, is so for it alone.
    get: (image, by) =>
      answers.get(`${by.namespace} ${image}`, { ...by, ask: () => ask(image, by) }),
  };
};
