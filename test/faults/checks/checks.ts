/**
 * What the fault table checks of each row, from outside: what the API server says, the devices'
 * files and their journals, and golden texts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kind-test-harness';
import type { Word } from '../vocabulary.ts';
import { whatIsWrong, type Cnf } from './agreement.ts';
import { followDevices } from './devices.ts';
import { sectionNamesOf } from './sections.ts';
import { saidIn, violationsIn, type SaysInSync, type Still } from './violations.ts';
import { watchNamespace } from './watch.ts';

export type Checks = {
  /**
   * What did not hold at some moment since the last time that this was asked. `earlyMs`: as in a
   * row.
   */
  violations: (earlyMs?: number) => string[];
  /**
   * Looks until all is as it should be. Gives what is wrong still after `withinMs`; empty: nothing.
   */
  untilAgreed: (withinMs: number) => Promise<string[]>;
  /**
   * Etcd has gone back to an earlier state. What the new list lacks, or has in an older version,
   * was forgotten by etcd and not done; and the watch before goes on from a version that is yet to
   * come. So what the API server says now is where judgement begins.
   */
  beginAnew: () => Promise<void>;
  /** The API server, or etcd, stood still, milliseconds since 1970. */
  stoodStill: (from: number, to: number) => void;
  close: () => void;
};

/**
 * Where names are free, those of the product begin with it; rows make rules that are not of the
 * vocabulary.
 */
const OUR_PREFIX = 'sdewan_';
const LOOK_EVERY_MS = 200;
/** What a watch tells late has arrived by then. */
const LATE_MS = 500;

export const createChecks = async (
  cluster: Cluster,
  {
    namespace,
    cnfs,
    vocabulary,
  }: { namespace: string; cnfs: readonly Cnf[]; vocabulary: readonly Word[] },
): Promise<Checks> => {
  const ours = new Set(vocabulary.flatMap(sectionNamesOf));
  const words = new Map(vocabulary.map((word) => [`${word.kind}/${word.name}`, word]));
  const isOurs = (name: string): boolean => name.startsWith(OUR_PREFIX) || ours.has(name);
  const devices = followDevices(cluster, namespace, isOurs);
  let watch = await watchNamespace(cluster, namespace);
  let saysInSync: SaysInSync = new Map();
  let from = 0;
  const stoodStill: Still[] = [];

  const look = async (): Promise<string[]> => {
    try {
      return await whatIsWrong(cluster, { namespace, cnfs, vocabulary, devices });
    } catch (error) {
      return [String(error)];
    }
  };

  return {
    violations: (earlyMs) => {
      devices.readAll();
      const now = Date.now();
      const wordOf = (id: string): Word | undefined => words.get(id);
      const found = violationsIn(
        watch.takeRules(),
        { watch, devices, wordOf, stoodStill, earlyMs },
        saysInSync,
      );
      const others = watch
        .pods()
        .flatMap(({ uid, name }) =>
          (devices.of(uid)?.timeline.foreignChanges() ?? [])
            .filter(({ ms }) => ms >= from)
            .map(
              (change) =>
                `${new Date(change.ms).toISOString().slice(11, 23)} others' sections in ${change.package} on ${name} were changed from\n${change.was}\nto\n${change.is}`,
            ),
        );
      from = now;
      devices.forget(now - LATE_MS);
      return [...found, ...others];
    },
    untilAgreed: async (withinMs) => {
      const end = performance.now() + withinMs;
      for (;;) {
        const wrong = await look();
        if (wrong.length === 0 || performance.now() > end) return wrong;
        await sleep(LOOK_EVERY_MS);
      }
    },
    beginAnew: async () => {
      watch = await watchNamespace(cluster, namespace);
      saysInSync = saidIn(watch.takeRules());
    },
    stoodStill: (since, to) => void stoodStill.push([since, to]),
    close: devices.close,
  };
};
