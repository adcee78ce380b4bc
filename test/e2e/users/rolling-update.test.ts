/**
 * Pods of a CNF are replaced one after the other: its rules are in sync again without a word to
 * anybody, and no alarm fires.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readScrape, valueIn } from '../../openwrt/checks/prometheus.ts';
import { buildFiringWithin, type FiringWithin, type Look } from '../../deploy/prometheus/alarms.ts';
import { createCnf } from '../../stack/cnf.ts';
import { SYSTEM_NAMESPACE } from '../../stack/installation.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../../stack/operator.ts';
import { rejectRule, zone } from '../../stack/rules.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const lan = zone('lan1', 'ovn-net1', PURPOSE);
/**
 * Longer than the roll-out, so that most of it is as on any other day; the nightly watches half an
 * hour.
 */
const WATCHED_MS = Number(process.env['SDEWAN_WATCHED_SECONDS'] ?? 120) * 1_000;
const MORE_MS = 180_000;
const METRICS_PORT = 9_465;

const IN_SYNC = { state: 'in_sync' };

const podsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({ podIP: z.string() }),
    }),
  ),
});

const rules = [lan, ...[1, 2, 3].map((index) => rejectRule(index, 'lan1', PURPOSE))];

describe('a rolling update of a CNF', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let firingWithin: FiringWithin;
  const looks: Look[] = [];
  const over = new AbortController();
  let watching: Promise<void> | undefined;

  /** Objects of others on this cluster that have no CNF as a label are seen, too. */
  const look = async (): Promise<void> => {
    const get = [
      'get',
      'pods',
      '-n',
      SYSTEM_NAMESPACE,
      '-l',
      'app=sdewan-coordinator',
      '-o',
      'json',
    ];
    const { items } = podsSchema.parse(JSON.parse((await cluster.kubectl(get)).stdout));
    for (;;) {
      for (const { metadata, status } of items) {
        const answer = await fetch(`http://${status.podIP}:${METRICS_PORT}/metrics`);
        const scrape = readScrape(await answer.text());
        const samples = scrape.samples.filter(({ labels }) =>
          [undefined, namespace].includes(labels['namespace']),
        );
        looks.push({ at: Date.now(), instance: metadata.name, scrape: { ...scrape, samples } });
      }
      await sleep(1_000, undefined, { signal: over.signal });
    }
  };

  beforeAll(async () => {
    firingWithin = await buildFiringWithin();
    namespace = await cluster.createNamespace('rolling');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    watching = look().catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
  });
  afterAll(async () => {
    over.abort();
    await watching;
  });

  /** Events of rules: reason, rule, message and how often. */
  const eventsOnRules = async (): Promise<string[]> => {
    const columns =
      'KIND:.involvedObject.kind,NAME:.involvedObject.name,REASON:.reason,COUNT:.count,MESSAGE:.message';
    const format = `custom-columns=${columns}`;
    const get = ['get', 'events', '-n', namespace, '--no-headers', '-o', format];
    const { stdout } = await cluster.kubectl(get);
    const kinds = new Set(rules.map(({ kind }) => kind));
    return stdout
      .split('\n')
      .filter((line) => kinds.has(line.split(/ +/)[0] ?? ''))
      .sort();
  };

  it('makes no Event on any rule', async () => {
    const before = await until('each rule has its Event', async () => {
      const events = await eventsOnRules();
      return events.length === rules.length ? events : undefined;
    });
    const [pod] = await observePods(cluster, namespace, PURPOSE);
    await cluster.kubectl(['rollout', 'restart', '-n', namespace, `deployment/${PURPOSE}`]);
    await cluster.kubectl([
      'rollout',
      'status',
      '-n',
      namespace,
      `deployment/${PURPOSE}`,
      '--timeout=500s',
    ]);
    await waitInSync(cluster, namespace, rules);
    // A roll-out is done while its old pods still end.
    await until('the old pods are gone', async () => {
      const after = await observePods(cluster, namespace, PURPOSE);
      return after.some(({ name }) => name === pod?.name) ? undefined : after;
    });
    expect(await eventsOnRules()).toEqual(before);
  });

  it('sets off no alarm', { timeout: WATCHED_MS + MORE_MS }, async () => {
    const another = rejectRule(4, 'lan1', PURPOSE);
    await apply(cluster, namespace, another);
    await waitInSync(cluster, namespace, [another]);
    await remove(cluster, namespace, another);
    await waitGone(cluster, namespace, [another]);
    const refused = apply(cluster, namespace, rejectRule(5, 'nowhere', PURPOSE));
    await expect(refused).rejects.toThrow('nowhere');
    const began = looks[0]?.at ?? Date.now();
    await sleep(began + WATCHED_MS - Date.now());
    over.abort();
    await watching;
    const shown = looks
      .slice(-2)
      .flatMap(({ scrape }) => valueIn(scrape, 'sdewan_coordinator_rules', IN_SYNC) ?? []);
    expect(shown).toEqual([rules.length]);
    expect(firingWithin(looks)).toEqual([]);
  });
});
