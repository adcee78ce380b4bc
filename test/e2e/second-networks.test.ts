/**
 * Policies in the second networks of a CNF: whose addresses count, MultiNetworkPolicies where the
 * cluster serves them, and annotations that say nothing known.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { eventually, policiesIn } from '../stack/policies.ts';
import { sdewan } from '../stack/sdewan.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const NETWORKS = 'sdewan.akraino.org/policy-networks';
const PLUMBING = 'k8s.cni.cncf.io';
const SUBNET = '10.77.0.0/24';

/** Nodus writes a text up to v5.0.0, and a list of both families since v5.2.0. */
const networksOf = (address: string | readonly string[]): Record<string, string> => ({
  'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
    interface: [{ name: 'ovn-net1', interface: 'net0' }],
  }),
  'k8s.plugin.opnfv.org/ovnInterfaces': JSON.stringify([
    { ip_address: address, interface: 'net0' },
  ]),
});

/** As much of it as the API server needs: it checks nothing of a policy. */
const KIND = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `multi-networkpolicies.${PLUMBING}` },
  spec: {
    group: PLUMBING,
    names: { kind: 'MultiNetworkPolicy', plural: 'multi-networkpolicies' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

describe('policies in second networks', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let cnf = '';
  let world: ReturnType<typeof policiesIn>;

  const table = (): Promise<string> => world.tableOf(cnf);
  const policy = (
    kind: string,
    name: string,
    from: object[],
    spec: object = {},
    network = 'ovn-net1',
  ): object => ({
    apiVersion: kind === 'NetworkPolicy' ? 'networking.k8s.io/v1' : `${PLUMBING}/v1beta1`,
    kind,
    metadata: { name, annotations: { 'k8s.v1.cni.cncf.io/policy-for': network } },
    spec: {
      podSelector: { matchLabels: { role: 'server' } },
      ingress: [{ from }],
      ...spec,
    },
  });
  const clients = [{ podSelector: { matchLabels: { role: 'client' } } }];
  const far = [...clients, { ipBlock: { cidr: '10.99.0.0/16' } }];

  beforeAll(async () => {
    namespace = await cluster.createNamespace('second-networks');
    world = policiesIn(cluster, namespace);
    await world.pod(
      'server',
      '10.99.2.1',
      { role: 'server' },
      networksOf(['10.77.0.11/24', 'fd77::11/64']),
    );
    await world.pod('client', '10.99.2.2', { role: 'client' }, networksOf('10.77.0.12/24'));
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 1,
      annotations: {
        [NETWORKS]: `cluster,ovn-net1=${SUBNET},lan=10.79.0.0/24,lan=fd79::/64`,
        'k8s.v1.cni.cncf.io/networks': 'lan',
        ...networksOf(['10.77.0.1/24', 'fd77::1/64']),
      },
    });
    cnf = (await observePods(cluster, namespace, PURPOSE))[0]?.name ?? '';
  });

  it('hold by own addresses alone in a cluster that serves no MultiNetworkPolicy', async () => {
    await apply(cluster, namespace, policy('NetworkPolicy', 'own', clients));
    await eventually('it is enforced', () => world.isEnforced('own'));
    expect(await table()).toContain('10.99.2.1');
    expect(await table()).not.toContain('10.77.0.');
  });

  describe('MultiNetworkPolicies, once they are served', () => {
    beforeAll(async () => {
      await apply(cluster, namespace, KIND);
      await eventually('the kind is served', async () => {
        const { stdout } = await cluster.kubectl(['api-resources', `--api-group=${PLUMBING}`]);
        return stdout.includes('MultiNetworkPolicy');
      });
    });

    it('hold for addresses in the network that they are for, and not for the others', async () => {
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'second', far));
      await eventually('it is enforced', () => world.isEnforced('second'));
      expect(await table()).toContain(world.chainOf('second'));
      expect(await table()).toContain('elements = { 10.77.0.12 }');
      expect(await table()).toContain('fd77::11');
      const [told] = await world.enforcements('second');
      expect(told?.spec.place).toBe('ovn-net1');
      expect(told?.status.scope).toContain("pods' addresses in ovn-net1");
    });

    it('leave out an address outside the subnet of the network, and say so', async () => {
      await world.pod('forged', '10.99.2.3', { role: 'server' }, networksOf('10.78.0.13/24'));
      await eventually(
        'it is named',
        async () =>
          (await world.whyNot('second'))['OutsideNetwork']?.includes(`${namespace}/forged`) ===
          true,
      );
      expect(await table()).not.toContain('10.78.0.13');
    });

    it('hold for attachments of Multus, and for an address that comes later', async () => {
      const inLan = (network: string, ...ips: string[]) => ({
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([{ name: network, ips }]),
      });
      const own = `${namespace}/lan`;
      await world.pod('lan-server', '10.99.2.4', { role: 'lan' }, inLan(own, '10.79.0.11'));
      await world.pod('lan-client', '10.99.2.5', { role: 'from' }, inLan(own, '10.79.0.12'));
      await world.pod('apart', '10.99.2.6', { role: 'from' }, inLan('apps/lan', '10.79.0.13'));
      const from = [{ podSelector: { matchLabels: { role: 'from' } } }, far[1] ?? {}];
      const spec = { podSelector: { matchLabels: { role: 'lan' } } };
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'multus', from, spec, 'lan'));
      await eventually('it is enforced', () => world.isEnforced('multus'));
      expect(await table()).toContain('elements = { 10.79.0.12 }');
      const [told] = await world.enforcements('multus');
      expect(told?.spec.place).toBe(own);
      const [[name, text] = []] = Object.entries(inLan(own, '10.79.0.12', 'fd79::12'));
      const annotate = ['annotate', '-n', namespace, 'pod/lan-client', '--overwrite'];
      await cluster.kubectl([...annotate, `${name}=${text}`]);
      await eventually('it follows', async () =>
        (await table()).includes('elements = { fd79::12 }'),
      );
      expect(await table()).not.toContain('10.79.0.13');
    });

    it('are not called enforced between neighbours alone', async () => {
      await apply(cluster, namespace, policy('MultiNetworkPolicy', 'neighbours', clients));
      await eventually(
        'it says why',
        async () =>
          (await world.whyNot('neighbours'))['SameNetworkOnly']?.includes(`${namespace}/server`) ===
          true,
      );
      expect(await world.isEnforced('neighbours', '0/2')).toBe(true);
      const ends = ['--from', '10.77.0.12', '--to', '10.77.0.11'];
      const { code, out } = await sdewan(cluster, 'trace', ...ends, '--dport', '80');
      expect([code, out]).toEqual([0, expect.stringContaining('passes no place of ours')]);
      expect(out).toContain(`not through ${namespace}/${PURPOSE}: both ends are in ${SUBNET}`);
    });
  });

  it('are told on a running pod, and what is in force stays', async () => {
    // The policies of all namespaces there, since other tests change theirs meanwhile.
    const own = async (): Promise<string[]> =>
      (await table()).match(
        new RegExp(`comment "${namespace}/.*|10\\.(77\\.0|99\\.2)\\.\\d+`, 'g'),
      ) ?? [];
    const before = await own();
    expect(before).not.toEqual([]);
    const annotate = ['annotate', '-n', namespace, `pod/${cnf}`, '--overwrite'];
    await cluster.kubectl([...annotate, `${NETWORKS}=net9`]);
    await eventually('the pod says it', async () => {
      const about = `involvedObject.name=${cnf},reason=InvalidAnnotation`;
      const get = ['get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].message}'];
      const { stdout } = await cluster.kubectl([...get, '--field-selector', about]);
      return stdout.includes('"net9" must be one of cluster, ovn-net1');
    });
    expect(await own()).toEqual(before);
    await cluster.kubectl([...annotate, `${NETWORKS}=cluster`]);
    await eventually(
      'what is in second networks is gone',
      async () => !(await table()).includes('10.77.0.'),
    );
    expect(await table()).toContain(world.chainOf('own'));
  });
});
