/** The pods that were there when this coordinator started and have time left to report; until then nothing is lowered for them. */
import type { Clock } from '#shared/runtime/clock.ts';
import type { Target } from '../cnf/target.ts';

export class Awaited {
  readonly #uids = new Set<string>();

  get uids(): ReadonlySet<string> {
    return this.#uids;
  }

  /** `onTimeUp` is called once, unless each has reported before. Returns a function that calls it off. */
  begin(
    pods: readonly Target[],
    options: { timeMs: number; clock: Clock; onTimeUp: () => void },
  ): () => void {
    for (const { uid, agent } of pods) if (agent.state !== 'missing') this.#uids.add(uid);
    return options.clock.after(options.timeMs, () => {
      if (this.#uids.size === 0) return;
      this.#uids.clear();
      options.onTimeUp();
    });
  }

  /** It has reported, or is gone. */
  settle(uid: string): void {
    this.#uids.delete(uid);
  }
}
