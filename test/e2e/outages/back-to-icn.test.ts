/**
 * The way back of docs/migration.md: `sdewan uninstall --keep-rules`, new pods, ICN's CRDs. Rules
 * stay with their specs and ICN's finalizers, and what is configured on a CNF stays until its pod
 * is replaced. What is installed again finds them, and brings all in sync.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdsSeedRule, seedRules } from '../../openwrt/checks/seed-rules.ts';
import { createCnf } from '../../stack/cnf.ts';
import { installProduct } from '../../stack/install.ts';
import { DEPLOY } from '../../stack/installation.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { waitForPods, waitInSync } from '../../stack/operator.ts';
import { zone } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const ICN_FINALIZER = 'rule.finalizers.sdewan.akraino.org';
const ZONES = 'firewallzones.batch.sdewan.akraino.org';

/**
 * What ICN's generator made of its types, as far as it matters here: everything in spec and status
 * is kept.
 */
const crdOfIcn = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: ZONES },
  spec: {
    group: 'batch.sdewan.akraino.org',
    names: {
      kind: 'FirewallZone',
      listKind: 'FirewallZoneList',
      plural: 'firewallzones',
      singular: 'firewallzone',
    },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: Object.fromEntries(
              ['spec', 'status'].map((part) => [
                part,
                { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              ]),
            ),
          },
        },
      },
    ],
  },
};

describe('going back to ICN', async () => {
  const cluster = await e2eCluster();
  const namespace = await cluster.createNamespace('back-to-icn');

  beforeAll(async () => {
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    for (const rule of seedRules) {
      const finalizers = [{ op: 'add', path: '/metadata/finalizers/-', value: ICN_FINALIZER }];
      const patch = ['patch', rule.toLowerCase(), '--type=json', '-p', JSON.stringify(finalizers)];
      await cluster.kubectl(['-n', namespace, ...patch]);
    }
    await waitInSync(cluster, namespace, seedRules);
  });
  // The other files of this suite need it.
  afterAll(async () => {
    await installProduct(cluster);
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  const names = async (...args: string[]): Promise<string> =>
    (await cluster.kubectl(['get', ...args, '-o', 'name'])).stdout.trim();
  const seedRulesOn = async (pod: string): Promise<string[]> => {
    const config = await readCnf(cluster, { namespace, pod });
    return seedRules.filter((rule) => holdsSeedRule(config, rule));
  };
  /** `Kind/name`, finalizers and spec of each rule. */
  const rules = async (): Promise<string[]> => {
    const template =
      '{range .items[*]}{.kind}/{.metadata.name} {.metadata.finalizers} {.spec}{"\\n"}{end}';
    const kinds = [...new Set(seedRules.map((rule) => rule.split('/')[0]?.toLowerCase()))].join();
    const of = ['get', kinds, '-n', namespace, '-o', `jsonpath=${template}`];
    return (await cluster.kubectl(of)).stdout.trim().split('\n').sort();
  };

  it('leaves rules, CRDs and CNFs as they are, without our finalizer, and nothing else of the product', async () => {
    const pods = await observePods(cluster, namespace, PURPOSE);
    const before = await rules();
    expect(before).toHaveLength(seedRules.length);
    expect(before[0]).toContain('"sdewan.akraino.org/agents"');
    const asked = await sdewan(cluster, 'uninstall', '--keep-rules');
    expect(asked).toMatchObject({ code: 2, said: expect.stringContaining('CNFs stay') });

    const { code, said } = await sdewan(cluster, 'uninstall', '--keep-rules', '--yes');
    expect([code, said]).toEqual([0, expect.stringContaining(`rollout restart -n ${namespace}`)]);
    const without = (line: string) => line.replace('"sdewan.akraino.org/agents",', '');
    expect(await rules()).toEqual(before.map(without));
    for (const line of await rules()) expect(line).toContain(`["${ICN_FINALIZER}"]`);
    expect(await names('crd')).toContain(ZONES);
    const ofTheCluster =
      'validatingwebhookconfiguration,mutatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding,clusterrole,clusterrolebinding';
    expect(await names(ofTheCluster)).not.toMatch(/\/sdewan/);
    const kept = 'rolebinding,role,configmap,serviceaccount,secret,lease,service,deployment,pdb';
    expect(await names(kept, '-n', 'sdewan-system')).not.toMatch(/\/sdewan/);
    expect(await names('rolebinding,configmap', '-n', namespace)).not.toContain('/sdewan');
    expect(await names('cnfstatus', '-n', namespace)).toBe('');
    expect(await observePods(cluster, namespace, PURPOSE)).toEqual(pods);
    for (const { name } of pods) expect(await seedRulesOn(name)).toEqual(seedRules);
  });

  it("gives new pods without an agent, and rules that ICN's CRDs and controller can have", async () => {
    await cluster.kubectl(['rollout', 'restart', '-n', namespace, `deployment/${PURPOSE}`]);
    const rolled = ['rollout', 'status', '-n', namespace, `deployment/${PURPOSE}`];
    await cluster.kubectl([...rolled, '--timeout=500s']);
    await waitForPods(cluster, namespace, PURPOSE, 2);
    const containers = 'jsonpath={.items[*].spec.initContainers[*].name}';
    const ofCnf = ['get', 'pods', '-n', namespace, '-l', `sdewanPurpose=${PURPOSE}`];
    await until('no pod has the agent', async () =>
      (await cluster.kubectl([...ofCnf, '-o', containers])).stdout === '' ? true : undefined,
    );

    const before = await rules();
    const icns = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
    await cluster.kubectl(icns, { stdin: JSON.stringify(crdOfIcn) });
    expect(await rules()).toEqual(before);
    // Its controller takes its finalizer off when it has deleted the rule on the CNF. No webhook,
    // policy or finalizer of ours is in its way.
    const lan = zone('of-icn', 'ovn-net1');
    const made = { ...lan, metadata: { ...lan.metadata, finalizers: [ICN_FINALIZER] } };
    await cluster.kubectl(['create', '-n', namespace, '-f', '-'], { stdin: JSON.stringify(made) });
    const at = ['-n', namespace, 'firewallzone', 'of-icn'];
    await cluster.kubectl(['delete', ...at, '--wait=false']);
    const none = ['--type=merge', '-p', '{"metadata": {"finalizers": null}}'];
    await cluster.kubectl(['patch', ...at, ...none]);
    await cluster.kubectl(['wait', ...at, '--for=delete', '--timeout=10s']);
  });

  it('comes to the same rules in sync when it is installed again', async () => {
    await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-k', DEPLOY]);
    await installProduct(cluster);
    await cluster.kubectl(['rollout', 'restart', '-n', namespace, `deployment/${PURPOSE}`]);
    await waitInSync(cluster, namespace, seedRules);
    for (const line of await rules()) expect(line).toContain('"sdewan.akraino.org/agents"');
  });

  it('has policies that find their settings, when it is installed again', async () => {
    const anna = ['--clusterrole=cluster-admin', '--user=anna', '-n', namespace];
    await cluster.kubectl(['create', 'rolebinding', 'anna', ...anna]);
    const { metadata, ...rest } = zone('in-a-bucket', 'ovn-net1', PURPOSE);
    const labels = { ...metadata.labels, 'sdewan-bucket-type': 'basic' };
    const stdin = JSON.stringify({ ...rest, metadata: { ...metadata, labels } });
    const create = ['create', '-n', namespace, '--dry-run=server', '-f', '-', '--as=anna'];
    const { stdout } = await cluster.kubectl(create, { stdin });
    expect(stdout).toContain('in-a-bucket created');
  });
});
