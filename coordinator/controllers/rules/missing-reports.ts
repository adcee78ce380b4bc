/**
 * The pods whose agents have not reported since this replica leads, and how much of
 * SDEWAN_SILENT_AFTER_MS each of them has left. Until it has run out nothing is lowered for them.
 *
 * It is the time in which some coordinator led and took reports, added up over restarts and changes
 * of the leader: if each of them began anew, one that crashes again and again would hide an agent
 * that is dead. Time in which none did is not counted, since no agent could report. What is used up
 * is left to the next leader in an annotation of the Lease, which is renewed every two seconds
 * anyway; that one adds `LAST_MS` for what the annotation does not show yet. A report ends it, so
 * the annotation is empty most of the time.
 *
 * What follows, with T for that time:
 * - An agent that lives is never silent while each leader leads long enough to receive a report of
 *   it and to renew the Lease then, however long there was none between two: with heartbeats of 10
 *   s and a backoff of 15 s at most that is 20 s. Leaders that all end before that do use up its
 *   time.
 * - An agent that is dead is silent when the one that received its last report has led for T since.
 *   When that one ends, the next do not know, and it is silent again when they have led for T, each
 *   of which counts for as long as it knew the pods, and for `LAST_MS` at least. Nothing is raised
 *   for it in between.
 */
import * as z from 'zod';
import type { Handover } from '#shared/kube/lease.ts';
import { jsonIn } from '#shared/util/json.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';

/** Between renewals of the Lease are up to 2.2 s, and `listened` is called once a second. */
export const LAST_MS = 3_500;
/**
 * 45 bytes each, of 256 KiB that all annotations of an object may have. Those beyond have the whole
 * time with the next leader.
 */
const MAX_LEFT = 2_000;

/** By uid of the pod: milliseconds. */
const leftSchema = z.record(z.string(), z.number().nonnegative());

export class MissingReports implements Handover {
  readonly #timeMs: number;
  /** As in the Lease when it was last read. */
  #left = '';
  /** By pod uid; undefined while this replica does not lead or does not know the pods. */
  #usedMs: Map<string, number> | undefined;
  readonly #uids = new Set<string>();

  constructor(options: { silentAfterMs: number }) {
    this.#timeMs = options.silentAfterMs;
  }

  /** Those that have time left. */
  get uids(): ReadonlySet<string> {
    return this.#uids;
  }

  /** Its time is up, and it has not reported since. */
  isOverdue(uid: string): boolean {
    return this.#usedMs?.has(uid) === true && !this.#uids.has(uid);
  }

  /** This replica leads, and none of these pods has reported to it lately. */
  begin(pods: readonly CnfPod[]): void {
    const left = parse(this.#left);
    this.#usedMs = new Map();
    for (const { uid, agent } of pods) {
      if (agent.state === 'missing') continue;
      const before = left.get(uid);
      this.#usedMs.set(uid, before === undefined ? 0 : before + LAST_MS);
      this.#uids.add(uid);
    }
    this.listened(0);
  }

  /** It does not lead any more. */
  end(): void {
    this.#usedMs = undefined;
    this.#uids.clear();
  }

  /** This replica has led for so much longer. Gives the pods whose time is up by now. */
  listened(ms: number): string[] {
    for (const [uid, used] of this.#usedMs ?? []) this.#usedMs?.set(uid, used + ms);
    const overdue = [...this.#uids].filter((uid) => (this.#usedMs?.get(uid) ?? 0) >= this.#timeMs);
    for (const uid of overdue) this.#uids.delete(uid);
    return overdue;
  }

  /** It has reported, or is gone. */
  settle(uid: string): void {
    this.#usedMs?.delete(uid);
    this.#uids.delete(uid);
  }

  read(text: string): void {
    this.#left = text;
  }

  write(): string {
    if (this.#usedMs === undefined) return this.#left;
    if (this.#usedMs.size === 0) return '';
    const longest = [...this.#usedMs].sort(([, one], [, other]) => other - one).slice(0, MAX_LEFT);
    return JSON.stringify(
      Object.fromEntries(longest.map(([uid, ms]) => [uid, Math.min(Math.round(ms), this.#timeMs)])),
    );
  }
}

/** What no coordinator can have written counts for nothing. */
const parse = (text: string): ReadonlyMap<string, number> =>
  new Map(Object.entries(leftSchema.safeParse(jsonIn(text)).data ?? {}));
