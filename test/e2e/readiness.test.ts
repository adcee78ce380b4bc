/** Readiness is true: of a new pod, and of an agent that hangs. */
import * as z from 'zod';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DeviceSection } from '../openwrt/checks/uci.ts';
import { createCnf } from '../stack/cnf.ts';
import { agentsDown } from '../stack/faults.ts';
import { readJournal } from '../stack/journal.ts';
import { inForceSince } from '../openwrt/checks/in-force.ts';
import { observePods, podOf } from '../stack/observe.ts';
import { apply, scale, waitForPods, waitInSync } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { witness, type Sighting } from '../stack/witness.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const lan = zone('lan1', 'ovn-net1');

// A CNF each, and most of the time is waiting for probes.
describe.concurrent('a new pod of a CNF whose firewall takes three seconds to reload', async () => {
  const cluster = await e2eCluster();
  const rules = [lan, ...Array.from({ length: 20 }, (_, index) => rejectRule(index, 'lan1'))];
  const sources = rules.flatMap(({ spec }) => spec['src_ip'] ?? []);
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('new-pod');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1, reloadMs: 3_000 });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
  });

  it('is not Ready before all rules are in force, and no rule is in sync before that', async () => {
    const [old] = await observePods(cluster, namespace, PURPOSE);
    await scale(cluster, namespace, PURPOSE, 2);
    const pods = await waitForPods(cluster, namespace, PURPOSE, 2);
    await waitInSync(cluster, namespace, rules);
    const pod = pods.find(({ name }) => name !== old?.name)?.name ?? '';

    const journal = await readJournal(cluster, { namespace, pod });
    const wholeAt = inForceSince(journal, 'firewall', holdsAll) ?? Infinity;
    const { sightings } = await witness(cluster, namespace);
    const early = sightings
      .filter(({ at }) => at < wholeAt)
      .map(({ id, object }) => ({ id, object }));
    const isReady = ({ id, object }: Seen) => id === `Pod/${pod}` && object && podOf(object).ready;
    expect(early.filter(isReady)).toEqual([]);
    expect(early.filter(({ object }) => saysInSync(object, 2))).toEqual([]);
    expect(sightings.filter(isReady)).not.toEqual([]);
    expect(sightings.filter(({ object }) => saysInSync(object, 2))).not.toEqual([]);
  });

  const holdsAll = (sections: readonly DeviceSection[]): boolean => {
    const held = new Set<unknown>(sections.map(({ options }) => options['src_ip']));
    return sources.every((source) => held.has(source));
  };
});

type Seen = Pick<Sighting, 'id' | 'object'>;
const ruleStatus = z.object({
  status: z.object({ inSync: z.literal(true), pods: z.object({ live: z.number() }) }),
});
/** Times of a rule, and on so many pods. */
const saysInSync = (object: unknown, pods: number): boolean =>
  ruleStatus.safeParse(object).data?.status.pods.live === pods;

describe.concurrent('an agent that hangs', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('hung');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
  });

  it('is restarted by its liveness probe, and continues', async () => {
    const [before] = await observePods(cluster, namespace, PURPOSE);
    const pod = before?.name ?? '';
    await agentsDown(cluster, namespace, PURPOSE);
    // As if a minute had passed since the agent last touched the file.
    const age = 'touch -t 202001010000 "$SDEWAN_STATE_DIR/alive"';
    await cluster.exec({ namespace, pod, container: 'sdewan-agent' }, ['sh', '-c', age]);
    const wan = zone('wan1', 'ovn-net2');
    await apply(cluster, namespace, wan);
    await waitInSync(cluster, namespace, [lan, wan]);
    const [after] = await observePods(cluster, namespace, PURPOSE);
    expect(after?.uid).toBe(before?.uid);
    expect(after?.restarts['sdewan-agent']).toBe(1);
  });
});
