/**
 * The commands of docs/upgrading.md, as they stand there: what is saved on one cluster is restored
 * on another one, with a coordinator, a CA and a CNF of its own.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { stepsIn } from '../../e2e/users/docs/blocks.ts';
import { blocks } from '../../e2e/users/docs/pages.ts';
import { createShell } from '../../e2e/users/docs/shell.ts';
import { readUci } from '../../openwrt/checks/uci.ts';
import { ROOT } from '../../run/product-files.ts';
import { cnfObjects } from '../../stack/cnf.ts';
import { images } from '../../stack/images.ts';
import { installProduct } from '../../stack/install.ts';
import { observePods, observeRules, readConfigFile, ruleId } from '../../stack/observe.ts';
import { apply, waitForPods, waitForRules, waitGone, waitInSync } from '../../stack/operator.ts';
import { rejectRule, rule, zone } from '../../stack/rules.ts';
import { mayReadSecrets } from '../../stack/secret-rights.ts';

const NAMESPACE = 'edge';
const PURPOSE = 'cnf-1';
const KEY = 'of-the-first-cluster';
const HOLD = 'example.org/hold';
const COLD_BUILD_MS = 1_200_000;
const [SAVE, RESTORE] = blocks.get('docs/upgrading.md') ?? [];

const zones = [zone('lan1', 'ovn-net1'), zone('wan1', 'ovn-net2')];
/** Their names are not in the order of their ages. */
const older = rejectRule(9, 'lan1');
const newer = rejectRule(1, 'lan1');
const last = { ...rejectRule(0, 'lan1') };
last.metadata = { ...last.metadata, annotations: { 'sdewan.akraino.org/order': '100' } };
const site = rule('IpsecSite', 'hub', {
  type: 'policy-based',
  remote: '203.0.113.9',
  authentication_method: 'psk',
  pre_shared_key_from: { name: 'vpn', key: 'psk' },
  crypto_proposal: ['p-1'],
  connections: [
    {
      name: 'conn',
      conn_type: 'tunnel',
      mode: 'add',
      local_subnet: '10.1.0.0/16',
      remote_subnet: '10.2.0.0/16',
      crypto_proposal: ['p-1'],
    },
  ],
});
const proposal = rule('IpsecProposal', 'p-1', {
  encryption_algorithm: 'aes128',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});
const service = rule('CNFService', 'web', { fullname: '192.0.2.10', port: '8867', dport: '80' });
const followers = rule('SdewanApplication', 'app', {
  podSelector: { matchLabels: { sdewanPurpose: PURPOSE } },
});
const going = rejectRule(5, 'lan1');
const saved = [...zones, older, newer, last, proposal, site, service, followers];

const deploymentSchema = z.looseObject({
  spec: z.object({ selector: z.looseObject({}), template: z.looseObject({}) }),
});

describe('a backup', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-restore-'));
  symlinkSync(path.join(ROOT, 'deploy'), path.join(folder, 'deploy'));
  let first: Cluster;
  let second: Cluster;

  /** A cluster with the product, and all of a CNF but its CNFDeployment. Gives that. */
  const prepared = async (): Promise<{ cluster: Cluster; cnf: object }> => {
    const cluster = await startCluster({ images: images() });
    await installProduct(cluster);
    await cluster.kubectl(['create', 'namespace', NAMESPACE]);
    const objects = await cnfObjects({ namespace: NAMESPACE, purpose: PURPOSE, replicas: 1 });
    const { spec } = deploymentSchema.parse(objects.pop());
    await apply(cluster, NAMESPACE, ...objects, ...mayReadSecrets(NAMESPACE, 'vpn'));
    const cnf = {
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: { name: PURPOSE },
      spec: { replicas: 1, selector: spec.selector, template: spec.template },
    };
    return { cluster, cnf };
  };
  /** From then on the coordinator rolls CNFs out. */
  const letRollOut = async (cluster: Cluster): Promise<void> => {
    const account = '--serviceaccount=sdewan-system:sdewan-coordinator';
    const bind = ['create', 'rolebinding', 'sdewan-fleet', '--clusterrole=sdewan-fleet', account];
    await cluster.kubectl([...bind, '-n', NAMESPACE]);
    await waitForPods(cluster, NAMESPACE, PURPOSE, 1);
  };
  const follow = async (cluster: Cluster, block: typeof SAVE): Promise<void> => {
    const shell = createShell({
      cwd: folder,
      env: { KUBECONFIG: cluster.kubeconfig, NO_COLOR: '1' },
      programs: {
        kubectl: cluster.kubectlCommand,
        sdewan: [process.execPath, path.join(ROOT, 'coordinator/cli/main.ts')],
        npx: [],
      },
    });
    if (!block) throw new Error('docs/upgrading.md has no such block');
    for (const { command } of stepsIn(block)) {
      const { code, text } = await shell.run(command);
      expect([command, code, text]).toEqual([command, 0, expect.any(String)]);
    }
  };
  /** What OpenWRT has of a package. */
  const onDevice = async (cluster: Cluster, file: string) => {
    const [pod] = await observePods(cluster, NAMESPACE, PURPOSE);
    const target = { namespace: NAMESPACE, pod: pod?.name ?? '' };
    return readUci((await readConfigFile(cluster, target, file)) ?? '');
  };
  const textOf = async (cluster: Cluster, object: string, field: string): Promise<string> => {
    const output = `--output=jsonpath={${field}}`;
    return (await cluster.kubectl(['get', object, `--namespace=${NAMESPACE}`, output])).stdout;
  };
  const caOf = (cluster: Cluster): Promise<string> =>
    textOf(cluster, 'configmap/sdewan-coordinator-ca', '.data.ca\\.crt');

  beforeAll(async () => {
    const [one, other] = await Promise.all([prepared(), prepared()]);
    first = one.cluster;
    second = other.cluster;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap' };
    await apply(first, NAMESPACE, { ...owner, metadata: { name: 'vault' } });
    const uid = await textOf(first, 'configmap/vault', '.metadata.uid');
    const vpn = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'vpn', ownerReferences: [{ ...owner, name: 'vault', uid }] },
      stringData: { psk: KEY },
    };
    // They are seconds older than what comes when the CNF runs.
    await apply(first, NAMESPACE, vpn, ...zones);
    await apply(first, NAMESPACE, older, proposal, one.cnf);
    await letRollOut(first);
    await apply(first, NAMESPACE, newer, last, site, service, followers, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'shop',
        annotations: {
          'sdewan.akraino.org/expose': PURPOSE,
          'sdewan.akraino.org/expose-zone': 'wan1',
        },
      },
      spec: { ports: [{ port: 8080 }] },
    });
    const held = { ...going, metadata: { ...going.metadata, finalizers: [HOLD] } };
    await apply(first, NAMESPACE, held);
    await waitForRules(
      first,
      NAMESPACE,
      { what: 'rules of the Service and the CNFService' },
      (all) => ['FirewallDNAT', 'CNFNAT'].every((kind) => all.some((each) => each.kind === kind)),
    );
    await waitInSync(first, NAMESPACE, [...saved, going]);
    const remove = ['delete', `firewallrule/${going.metadata.name}`, '-n', NAMESPACE];
    await first.kubectl([...remove, '--wait=false']);
  }, COLD_BUILD_MS);
  afterAll(async () => {
    await Promise.all([first?.stop(), second?.stop()]);
    rmSync(folder, { recursive: true });
  });

  it('holds what no other object makes, without what belongs to the cluster', async () => {
    await follow(first, SAVE);
    const text = readFileSync(path.join(folder, 'backup.json'), 'utf8');
    const schema = z.object({
      items: z.array(
        z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
      ),
    });
    const ids = schema.parse(JSON.parse(text)).items.map(ruleId);
    const wanted = [...saved.map(ruleId), `CNFDeployment/${PURPOSE}`];
    expect(ids.toSorted()).toEqual(wanted.toSorted());
    expect(text).not.toMatch(/"status"|pod-addresses|"uid"/);
  });

  it('restores every rule, of which none is in sync without a pod', async () => {
    await follow(second, RESTORE);
    const rules = await observeRules(second, NAMESPACE);
    expect(rules.map(ruleId)).toEqual(expect.arrayContaining(saved.map(ruleId)));
    expect(rules.filter(({ status }) => status?.inSync === true)).toEqual([]);
  });

  it('restores Secrets, which objects of the first cluster own no longer', async () => {
    expect(await textOf(first, 'secret/vpn', '.metadata.ownerReferences')).toContain('vault');
    expect(await textOf(second, 'secret/vpn', '.metadata.ownerReferences')).toBe('');
  });

  it('brings a fresh CNF to what the first one has, in its order', async () => {
    await letRollOut(second);
    await waitInSync(second, NAMESPACE, saved);
    const isOfCluster = ({ name = '' }) => /svc_shop|reject_5\b/.test(name);
    const [firewall, before] = await Promise.all([
      onDevice(second, 'firewall'),
      onDevice(first, 'firewall'),
    ]);
    const ofType = Map.groupBy(firewall, ({ type }) => type);
    const kept = before.filter((section) => !isOfCluster(section));
    // What the sections of different types are to each other, a pass decides.
    expect(ofType).toEqual(Map.groupBy(kept, ({ type }) => type));
    const places = ['reject_9', 'reject_1', 'reject_0'].map((name) =>
      firewall.findIndex((section) => section.name?.endsWith(name)),
    );
    expect(places.filter((place) => place < 0)).toEqual([]);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(JSON.stringify(await onDevice(second, 'ipsec'))).toContain(KEY);
  });

  it('leaves the new cluster its own CA', async () => {
    const [one, other] = await Promise.all([caOf(first), caOf(second)]);
    expect(other).toContain('BEGIN CERTIFICATE');
    expect(other).not.toBe(one);
  });

  it('holds up no deletion, and is nothing to the first cluster', async () => {
    const named = [newer, service].map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    await second.kubectl(['delete', ...named, '-n', NAMESPACE, '--wait=false']);
    await waitGone(second, NAMESPACE, [newer, service, rule('CNFNAT', 'webnat', {})]);
    const left = (await onDevice(second, 'firewall')).map(({ name = '' }) => name);
    expect(left.filter((name) => name.startsWith('sdewan_')).sort()).toEqual(
      ['rule_reject_0', 'rule_reject_9', 'zone_lan1', 'zone_wan1'].map((name) => `sdewan_${name}`),
    );
    await waitInSync(first, NAMESPACE, saved);
  });
});
