/**
 * `sdewan uninstall`, run as an operator does: nothing of the product is left or stuck in
 * Terminating, CNFs go on without rules.
 */
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NETWORK_PORTS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_GATE,
  PORTS_ROLE,
} from '#shared/names.ts';
import { holdsSeedRule, seedRules } from '../../openwrt/checks/seed-rules.ts';
import { createCnf } from '../../stack/cnf.ts';
import { managedNetwork } from '../../stack/managed-network.ts';
import { coordinatorDown } from '../../stack/faults.ts';
import { crdList, DEPLOY, SYSTEM_NAMESPACE } from '../../stack/installation.ts';
import { installProduct } from '../../stack/install.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { zone } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const pending = { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }] };

describe('uninstalling', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('uninstall');
    await cluster.kubectl(['apply', '-k', path.join(DEPLOY, '1.36')]);
    await cluster.kubectl(['label', 'namespace', namespace, `${NETWORK_PORTS_ANNOTATION}=enabled`]);
    // Without it the coordinator would make every object anew that it enforces.
    const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2, annotations });
    await apply(cluster, namespace, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'closed' },
      spec: { podSelector: {} },
    });
    const labels = { sdewanPurpose: 'cnf-2' };
    await apply(cluster, namespace, {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'other', labels },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: pending },
      },
    });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
    await until('the policy is in force', async () => {
      const inSync = 'jsonpath={.items[*].status.inSync}';
      const { stdout } = await cluster.kubectl(['get', 'pe', '-n', namespace, '-o', inSync]);
      return stdout.includes('true') ? true : undefined;
    });
    await network(namespace);
  });
  /**
   * It has one address, which pod `holder` has, and `waits` waits for. Both have the gate from
   * deploy/1.36.
   */
  const network = async (of: string): Promise<void> => {
    const nfn = JSON.stringify({ interface: [{ name: 'scarce', interface: 'net0' }] });
    const pod = (name: string): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, annotations: { [NFN_NETWORK_ANNOTATION]: nfn } },
      spec: pending,
    });
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: PORTS_ROLE };
    const coordinator = { kind: 'ServiceAccount', name: 'sdewan-coordinator' };
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'addresses' },
      roleRef: role,
      subjects: [{ ...coordinator, namespace: SYSTEM_NAMESPACE }],
    };
    const managed = managedNetwork('scarce', {
      names: ['scarce'],
      subnets: [{ cidr: '10.7.0.0/24', ranges: ['10.7.0.5'] }],
      namespaces: [of],
    });
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(managed) });
    const tried = ['create', '-n', of, '-f', '-', '--dry-run=server', '-o', 'json'];
    await until('the API server adds the gate', async () => {
      const { stdout } = await cluster.kubectl(tried, { stdin: JSON.stringify(pod('holder')) });
      return stdout.includes(PORTS_GATE) ? true : undefined;
    });
    await apply(cluster, of, binding, pod('holder'));
    await until('a pod has the address', async () => {
      const { stdout } = await cluster.kubectl(['get', 'pod', 'holder', '-n', of, '-o', 'json']);
      return stdout.includes('10.7.0.5') ? true : undefined;
    });
    await apply(cluster, of, pod('waits'));
    await until('the other pod waits for it', async () => {
      const { stdout } = await cluster.kubectl(['get', 'events', '-n', of]);
      return stdout.includes('network scarce has no free address') ? true : undefined;
    });
  };
  const gatesIn = async (of: string): Promise<string> => {
    const gates = 'jsonpath={.items[*].spec.schedulingGates[*].name}';
    return (await cluster.kubectl(['get', 'pods', '-n', of, '-o', gates])).stdout.trim();
  };
  /** Objects of each kind that is being deleted. */
  const deletionTimes = async (): Promise<string> => {
    const path = 'jsonpath={.items[*].metadata.deletionTimestamp}';
    return (await cluster.kubectl(['get', 'crd', '-o', path])).stdout;
  };
  const installedAnew = async (): Promise<void> => {
    // What is applied while it is still being deleted is gone a moment later.
    await until('no kind is being deleted', async () =>
      (await deletionTimes()).trim() === '' ? true : undefined,
    );
    await installProduct(cluster);
    // kubectl remembers for a while which kinds there were.
    await cluster.kubectl(['api-resources', '--cached=false']);
  };
  // The other files of this suite need it.
  afterAll(installedAnew);

  const uninstall = (...args: string[]) => sdewan(cluster, 'uninstall', ...args);
  const names = async (...args: string[]): Promise<string> =>
    (await cluster.kubectl(['get', ...args, '-o', 'name'])).stdout.trim();
  const seedRulesOn = async (pod: string): Promise<string[]> => {
    const config = await readCnf(cluster, { namespace, pod });
    return seedRules.filter((rule) => holdsSeedRule(config, rule));
  };

  it('stops before the rules when no agent can confirm that they are removed, and names them', async () => {
    expect(await uninstall()).toMatchObject({ code: 2, said: expect.stringContaining('--yes') });
    const restore = await coordinatorDown(cluster);
    const { code, said } = await uninstall('--yes');
    await restore();
    expect([code, said]).toEqual([1, expect.stringContaining('no coordinator runs')]);
    expect(said).toMatch(/^ {2}\w+ [\w-]+\/[\w.-]+: in sync$/m);
    expect(said).not.toContain('has not written a status');
    // It names some: other files of the suite may have left more rules than that.
    expect(said).toMatch(/^ {2}\w+ [\w-]+\/[\w.-]+: /m);
    expect(await names('crd')).toContain('firewallzones.batch.sdewan.akraino.org');
    expect(await names('managednetwork')).toContain('scarce');
    expect(await names('networkport')).toContain('scarce-5');
    expect(await gatesIn(namespace)).toBe(PORTS_GATE);
  });

  it('leaves nothing of the product, no rule on a CNF, and CNFs that go on', async () => {
    await installedAnew();
    const before = await observePods(cluster, namespace, PURPOSE);
    expect(await names('networkport')).toContain('scarce-5');
    expect(await gatesIn(namespace)).toBe(PORTS_GATE);
    const { code, said } = await uninstall('--yes');
    expect(await gatesIn(namespace)).toBe('');
    for (const workload of [`deployment/${PURPOSE}`, 'statefulset/other'])
      expect([code, said]).toEqual([
        0,
        expect.stringContaining(`kubectl rollout restart -n ${namespace} ${workload}\n`),
      ]);
    expect(await names('crd')).not.toContain('sdewan');
    const ofTheCluster =
      'validatingwebhookconfiguration,mutatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding,mutatingadmissionpolicy,mutatingadmissionpolicybinding,clusterrole,clusterrolebinding,namespace';
    expect(await names(ofTheCluster)).not.toMatch(/\/sdewan/);
    expect(await names('rolebinding,configmap', '-n', namespace)).not.toContain('/sdewan');
    for (const { name } of before) expect(await seedRulesOn(name)).toEqual([]);
    expect(await observePods(cluster, namespace, PURPOSE)).toEqual(before);
    await cluster.kubectl(['delete', 'namespace', namespace, '--timeout=500s']);
  });

  it('removes rules with --force that no agent will ever confirm', async () => {
    const forgotten = await cluster.createNamespace('forgotten');
    const kinds = await crdList(cluster);
    await cluster.kubectl(['apply', '-f', '-'], { stdin: kinds });
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      'crd',
      '--all',
      '--timeout=500s',
    ]);
    const lan = zone('lan1', 'ovn-net1');
    const held = {
      ...lan,
      metadata: { ...lan.metadata, finalizers: ['sdewan.akraino.org/agents'] },
    };
    await cluster.kubectl(['create', '-n', forgotten, '-f', '-'], { stdin: JSON.stringify(held) });
    // As a user does who did not read the rest of the message.
    await cluster.kubectl(['delete', '--wait=false', '-f', '-'], { stdin: kinds });
    const { code, said } = await uninstall('--yes', '--force');
    expect([code, said]).toEqual([0, expect.stringContaining('done')]);
    expect(await names('crd')).not.toContain('sdewan');
    await cluster.kubectl(['delete', 'namespace', forgotten, '--timeout=500s']);
  });

  it('names the pods that hold a namespace', async () => {
    const held = await cluster.createNamespace('held');
    await cluster.kubectl(['label', 'namespace', held, 'app.kubernetes.io/part-of=sdewan']);
    const finalizers = ['example.org/held'];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one', finalizers },
      spec: pending,
    };
    await apply(cluster, held, pod);
    const { code, said } = await uninstall('--yes', '--timeout=10');
    expect([code, said]).toEqual([1, expect.stringContaining(`remaining: Namespace ${held}`)]);
    expect(said).toMatch(
      new RegExp(`remaining: Pod ${held}/one: waits since \\S+ for finalizers example.org/held`),
    );
    const letGo = '{"metadata":{"finalizers":null}}';
    await cluster.kubectl(['patch', 'pod', 'one', '-n', held, '--type=merge', '-p', letGo]);
    await cluster.kubectl(['wait', 'namespace', held, '--for=delete', '--timeout=500s']);
  });
});
