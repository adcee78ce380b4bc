/**
 * Firewall rules in the pod's own network that drop everything, also what goes over loopback: the
 * agent reaches neither OpenWRT nor the API server nor the coordinator, and the kubelet not the
 * pod.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { observeRules, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import {
  agentStatus,
  countRules,
  firstPod,
  getPod,
  nodeCluster,
  PURPOSE,
  zoneAndRules,
} from './cluster.ts';
import { measured } from './figures.ts';

/** Three failed periods of the liveness probe end a container: 60 s. */
const BLOCKED_MS = 70_000;

describe.concurrent.each(['INPUT', 'OUTPUT'])('all %s of the pod dropped', async (chain) => {
  const cluster = await nodeCluster();
  const rules = zoneAndRules(5);

  it('keep the agent alive with its rules; it reports what it cannot reach, and recovers', async () => {
    const namespace = await cluster.createNamespace(`drop-${chain.toLowerCase()}`);
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    const pod = await firstPod(cluster, namespace);
    const firewall = async (action: '-I' | '-D') => {
      const done = await cluster.node.inPodNetwork({ namespace, pod }, [
        'iptables',
        action,
        chain,
        '-j',
        'DROP',
      ]);
      expect(done).toMatchObject({ code: 0, stderr: '' });
    };

    await firewall('-I');
    const blockedAt = Date.now();
    await until('status says that the pod is not in sync', async () => {
      const [first] = await observeRules(cluster, namespace);
      return first?.status?.inSync === false ? true : undefined;
    });
    await sleep(Math.max(0, blockedAt + BLOCKED_MS - Date.now()));
    const during = await getPod(cluster, namespace, pod);
    expect(agentStatus(during)).toMatchObject({ restartCount: 0 });
    expect(await countRules(cluster, namespace, pod)).toBe(5);
    const [seen] = await observeRules(cluster, namespace);
    expect(JSON.stringify(seen?.status)).toContain(pod);
    const { stdout } = await cluster.kubectl(['logs', '-n', namespace, pod, '-c', 'sdewan-agent']);
    expect(stdout).toMatch(/"ready":false,"missing":\{"openwrt":"[^"]+/);
    expect(stdout).toContain('reports do not reach the coordinator');

    await firewall('-D');
    await measured(`all ${chain} dropped for ${BLOCKED_MS / 1000} s, from its end to in sync`, () =>
      waitInSync(cluster, namespace, rules),
    );
    const after = await getPod(cluster, namespace, pod);
    expect(after.metadata.uid).toBe(during.metadata.uid);
    expect(agentStatus(after)).toMatchObject({ ready: true, restartCount: 0 });
  });
});
