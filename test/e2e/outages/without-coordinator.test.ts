/**
 * A CNF whose manifest comes from `sdewan inject --without-webhook`, in a cluster in which no
 * coordinator runs: it starts, applies rules and is Ready; and when the coordinator comes, it is a
 * CNF like any other.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cnfObjects } from '../../stack/cnf.ts';
import { agentsDown, coordinatorDown, type Restore } from '../../stack/faults.ts';
import { listOf } from '../../stack/installation.ts';
import { observePods, observeRules, readCnf, until } from '../../stack/observe.ts';
import {
  apply,
  remove,
  waitForPods,
  waitForRules,
  waitGone,
  waitInSync,
} from '../../stack/operator.ts';
import { rejectRule, zone, type Rule } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const REPLICAS = 2;
const lan = zone('lan1', 'ovn-net1');
const rules = [lan, rejectRule(0, 'lan1')];
const later = rejectRule(1, 'lan1');

describe('without a coordinator, a CNF that was injected by hand', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let folder = '';
  let manifest = '';
  let restore: Restore = async () => {};
  const kubectl = async (...args: string[]) =>
    (await cluster.kubectl([...args, '-n', namespace])).stdout;
  const applyManifest = () =>
    cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { stdin: manifest });

  /** By the names that the agent gives to what it writes, read from each OpenWRT's file. */
  const waitInForce = async (wanted: readonly Rule[], unwanted: readonly Rule[] = []) => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    expect(pods).toHaveLength(REPLICAS);
    for (const { name } of pods)
      await until(`the sections on ${name}`, async () => {
        const config = await readCnf(cluster, { namespace, pod: name });
        const sections = JSON.stringify(config.get('firewall'));
        const has = (rule: Rule): boolean =>
          sections.includes(JSON.stringify(rule.spec['src_ip'] ?? rule.metadata.name));
        return wanted.every(has) && !unwanted.some(has) ? true : undefined;
      });
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('without-coordinator');
    folder = await mkdtemp(join(tmpdir(), 'without-coordinator-'));
    restore = await coordinatorDown(cluster);
    const file = join(folder, 'cnf.json');
    const cnf = { namespace, purpose: PURPOSE, replicas: REPLICAS };
    await writeFile(file, listOf(await cnfObjects(cnf)));
    const injected = await sdewan(
      cluster,
      'inject',
      '--without-webhook',
      '-n',
      namespace,
      '-f',
      file,
    );
    if (injected.code !== 0) throw new Error(injected.said);
    manifest = injected.out;
  });
  afterAll(async () => {
    await restore();
    await rm(folder, { recursive: true, force: true });
  });

  it('starts, has its rules in force, and is Ready', async () => {
    await apply(cluster, namespace, ...rules);
    await applyManifest();
    await waitForPods(cluster, namespace, PURPOSE, REPLICAS);
    await waitInForce(rules);
    // No other program has made anything here, and none says anything of the rules.
    expect(await kubectl('get', 'rolebindings,configmaps', '-o', 'name')).not.toMatch(
      /\/sdewan-(agent|agent-keys|coordinator-ca)$/m,
    );
    const statuses = (await observeRules(cluster, namespace)).map(({ status }) => status?.inSync);
    expect(statuses).toEqual(rules.map(() => undefined));
  });

  it('takes changes, and gets new pods for those that end', async () => {
    await apply(cluster, namespace, later);
    await waitInForce([...rules, later]);
    const before = new Set((await observePods(cluster, namespace, PURPOSE)).map(({ uid }) => uid));
    await kubectl('delete', 'pods', '-l', `sdewanPurpose=${PURPOSE}`);
    const after = await waitForPods(cluster, namespace, PURPOSE, REPLICAS);
    expect(after.filter(({ uid }) => before.has(uid))).toEqual([]);
    await waitInForce([...rules, later]);
  });

  it('is in sync when a coordinator comes, with the same pods and without a complaint', async () => {
    const before = await observePods(cluster, namespace, PURPOSE);
    await restore();
    restore = async () => {};
    await waitInSync(cluster, namespace, [...rules, later]);
    expect(await observePods(cluster, namespace, PURPOSE)).toEqual(before);
    expect(await kubectl('get', 'events')).not.toContain('AgentMissing');
    const status = await until('CNFStatus counts both pods', async () => {
      const said = JSON.stringify(await cluster.api.find(cnfStatusPath(namespace)));
      return said.includes(`"summary":"${REPLICAS}/${REPLICAS}"`) ? said : undefined;
    });
    expect(status).not.toContain('not counted');
    const generation = () =>
      kubectl('get', `deployment/${PURPOSE}`, '-o', 'jsonpath={.metadata.generation}');
    expect(await generation()).toBe('1');
    await applyManifest();
    expect(await generation()).toBe('1');
  });

  it('confirms deletions like any other', async () => {
    const resume = await agentsDown(cluster, namespace, PURPOSE);
    await remove(cluster, namespace, later);
    await waitForRules(cluster, namespace, { what: 'the deletion waits for both agents' }, (seen) =>
      seen.some(({ status }) => /^being deleted: .* on 2 of 2 pods/.test(status?.message ?? '')),
    );
    await resume();
    await waitGone(cluster, namespace, [later]);
    await waitInForce(rules, [later]);
  });

  it('starts as CNFs usually do after uninject', async () => {
    const file = join(folder, 'injected.yaml');
    await writeFile(file, manifest);
    const back = await sdewan(cluster, 'uninject', '-f', file);
    await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { stdin: back.out });
    await until('pods of the plain manifest', async () => {
      const pods = await kubectl('get', 'pods', '-l', `sdewanPurpose=${PURPOSE}`, '-o', 'yaml');
      return pods.includes('without-webhook') ? undefined : true;
    });
    await waitForPods(cluster, namespace, PURPOSE, REPLICAS);
    await waitInSync(cluster, namespace, rules);
  });
});

const cnfStatusPath = (namespace: string): string =>
  `/apis/batch.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/cnfstatuses/${PURPOSE}`;
