import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { holdsSeedRule, seedRules } from '../openwrt/checks/seed-rules.ts';
import { readUci } from '../openwrt/checks/uci.ts';
import { createCnf } from '../stack/cnf.ts';
import { applyManifest } from '../stack/manifests.ts';
import { observePods, observeRules, readCnf, readConfigFile } from '../stack/observe.ts';
import { waitForPods, waitInSync } from '../stack/operator.ts';
import { e2eCluster } from './cluster.ts';

/**
 * The simulator's factory settings stand for what an administrator made: they must come through
 * untouched.
 */
const factory = async (file: string): Promise<ReturnType<typeof readUci>> =>
  readUci(
    await readFile(
      path.resolve(import.meta.dirname, `../openwrt/simulator/factory/config/${file}`),
      'utf8',
    ),
  );

describe("the seed's rules on a CNF with two replicas", async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let pods: string[] = [];

  beforeAll(async () => {
    namespace = await cluster.createNamespace('seed');
    await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 2 });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
    await waitForPods(cluster, namespace, 'cnf-1', 2);
    pods = (await observePods(cluster, namespace, 'cnf-1')).map(({ name }) => name);
  });

  it.each(seedRules)('%s is in the files of both', async (rule) => {
    for (const pod of pods) {
      expect(holdsSeedRule(await readCnf(cluster, { namespace, pod }), rule)).toBe(true);
    }
  });

  it.each(['firewall', 'mwan3'])('leaves both with the same %s, to the byte', async (file) => {
    const texts = await Promise.all(
      pods.map((pod) => readConfigFile(cluster, { namespace, pod }, file)),
    );
    expect(texts[0]).toBeDefined();
    expect(texts[1]).toBe(texts[0]);
    await expect(texts[0]).toMatchFileSnapshot(`../golden/seed/${file}`);
  });

  it.each(['firewall', 'mwan3', 'network'])('leaves what was in %s untouched', async (file) => {
    const before = await factory(file);
    for (const pod of pods) {
      const text = await readConfigFile(cluster, { namespace, pod }, file);
      const after = readUci(text ?? '');
      expect(after.slice(0, before.length)).toEqual(before);
    }
  });

  it('has a status that agrees with the files', async () => {
    for (const { kind, status } of await observeRules(cluster, namespace)) {
      expect({ kind, ...status }).toMatchObject({ kind, inSync: true, appliedVersion: '1' });
      expect(Date.parse(status?.appliedTime ?? '')).toBeGreaterThan(Date.now() - 600_000);
    }
  });

  it('shows purpose, applied and in sync in kubectl get', async () => {
    const { stdout } = await cluster.kubectl(['get', 'firewallzones', '-n', namespace]);
    expect(stdout).toMatch(/NAME\s+PURPOSE\s+APPLIED\s+IN SYNC\s+REASON\s+AGE/);
    expect(stdout).toMatch(/lan1\s+cnf-1\s+2\/2\s+true/);
  });

  it('has the state of the CNF in its CNFStatus, and in the one for all', async () => {
    const summary = async () => {
      const get = ['get', 'cnfstatus', 'cnf-1', '-n', namespace, '--ignore-not-found', '-o'];
      const { stdout } = await cluster.kubectl([
        ...get,
        'jsonpath={.status.pods.summary} {.status.wans.summary}',
      ]);
      return stdout;
    };
    await expect.poll(summary).toBe('2/2 4/4');
    const all = async () => {
      const get = ['get', 'cnfstatus', 'cnf-status', '-n', 'sdewan-system', '--ignore-not-found'];
      const path = 'jsonpath={range .status.information[*]}{.name} {.status}{"\\n"}{end}';
      const { stdout } = await cluster.kubectl([...get, '-o', path]);
      return stdout.split('\n').filter((line) => pods.some((pod) => line.startsWith(`${pod} [`)));
    };
    await expect.poll(all).toHaveLength(2);
  });

  /** Names of the Ready pods, and how many of them lack a rule at that moment. */
  const look = async (): Promise<{ ready: string[]; unconfigured: string[] }> => {
    const pods = await observePods(cluster, namespace, 'cnf-1');
    const ready = pods.filter((pod) => pod.ready && !pod.terminating).map(({ name }) => name);
    const holds = await Promise.all(
      ready.map(async (pod) => {
        const config = await readCnf(cluster, { namespace, pod });
        return seedRules.every((rule) => holdsSeedRule(config, rule));
      }),
    );
    return { ready, unconfigured: ready.filter((_, index) => !holds[index]) };
  };

  it('keeps both replicas configured at every moment of a rolling update', async () => {
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    const template = { metadata: { annotations: { 'test/rollout': 'second' } } };
    const before = new Set(
      (await observePods(cluster, namespace, 'cnf-1')).map(({ name }) => name),
    );
    const patch = JSON.stringify({ spec: { strategy, template } });
    await cluster.kubectl(['patch', '-n', namespace, 'deployment/cnf-1', '-p', patch]);
    const rollout = cluster.kubectl([
      'rollout',
      'status',
      '-n',
      namespace,
      'deployment/cnf-1',
      '--timeout=500s',
    ]);
    const over = new AbortController();
    void rollout.finally(() => over.abort()).catch(() => undefined);
    const fewest: number[] = [];
    while (!over.signal.aborted) {
      const { ready, unconfigured } = await look();
      // A pod that began to end between the two looks has no files any more.
      const stillReady = new Set((await look()).ready);
      expect(unconfigured.filter((pod) => stillReady.has(pod))).toEqual([]);
      fewest.push(ready.length);
    }
    await rollout;
    expect(Math.min(...fewest)).toBeGreaterThanOrEqual(2);
    const after = await waitForPods(cluster, namespace, 'cnf-1', 2);
    expect(after.filter(({ name }) => before.has(name))).toEqual([]);
    expect((await look()).unconfigured).toEqual([]);
  });
});
