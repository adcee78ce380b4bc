/**
 * What comes first, policies, pods or the CNF, makes no difference; and CNFs that cannot enforce
 * anything say so, and go on.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf, type Cnf } from '../stack/cnf.ts';
import { observePods } from '../stack/observe.ts';
import { apply, waitInSync } from '../stack/operator.ts';
import { eventually, policiesIn } from '../stack/policies.ts';
import { zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const ANNOTATIONS = { 'sdewan.akraino.org/policy-networks': 'cluster' };

const policy = (name: string, spec: object = {}): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name },
  spec: {
    podSelector: { matchLabels: { role: 'server' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { role: 'client' } } }] }],
    ...spec,
  },
});

describe('policies at CNFs', async () => {
  const cluster = await e2eCluster();

  type Step = 'policy' | 'pods' | 'CNF';
  const ORDERS: Step[][] = [
    ['policy', 'pods', 'CNF'],
    ['pods', 'CNF', 'policy'],
    ['CNF', 'policy', 'pods'],
  ];
  it.each(ORDERS.map((order, at) => ({ order, at })))('$order', async ({ order, at }) => {
    // An address that pods of two namespaces have lets nothing pass.
    const [server, client] = [`10.99.3.${10 * at + 1}`, `10.99.3.${10 * at + 2}`];
    const namespace = await cluster.createNamespace('policy-orders');
    const fixture = policiesIn(cluster, namespace);
    const steps: Record<Step, () => Promise<unknown>> = {
      policy: () => apply(cluster, namespace, policy('web')),
      pods: async () => {
        await fixture.pod('server', server, { role: 'server' });
        await fixture.pod('client', client, { role: 'client' });
      },
      CNF: () =>
        createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1, annotations: ANNOTATIONS }),
    };
    for (const step of order) await steps[step]();
    await eventually('it is enforced', () => fixture.isEnforced('web'));
    const [cnf] = await observePods(cluster, namespace, PURPOSE);
    // Enforced is said of the pods that the coordinator knows, and the client's can be the last of
    // them.
    const parts = [fixture.chainOf('web'), `{ ${server} }`, `{ ${client} }`];
    const missing = async () => {
      const table = await fixture.tableOf(cnf?.name ?? '');
      return parts.filter((part) => !table.includes(part));
    };
    await expect.poll(missing).toEqual([]);
  });

  describe.each<[string, Partial<Cnf>, string, string]>([
    ['a login without the right', { login: 'staged' }, 'on OpenWRT', '10.99.4.1'],
    ['firewall3', { firewall: 'fw3' }, 'iptables', '10.99.4.2'],
    ["ICN's REST", { driver: 'icn' }, 'no nft', '10.99.4.3'],
  ])('a CNF with %s', (_, of, words, address) => {
    let namespace = '';
    let fixture: ReturnType<typeof policiesIn>;
    beforeAll(async () => {
      namespace = await cluster.createNamespace('policy-unsupported');
      fixture = policiesIn(cluster, namespace);
      await fixture.pod('server', address, { role: 'server' });
      const cnf = { namespace, purpose: PURPOSE, replicas: 1, annotations: ANNOTATIONS };
      await createCnf(cluster, { ...cnf, ...of });
      await apply(cluster, namespace, policy('web'), zone('lan1', 'ovn-net1'));
    });

    it('says so on the object that people look at, and has its rules all the same', async () => {
      await eventually('it says why', async () =>
        (await fixture.enforcements('web')).some(
          ({ status: { conditions = [], message = '' } }) =>
            message.includes(words) &&
            conditions.some(
              ({ type, status, reason }) =>
                type === 'Ready' && status === 'False' && reason === 'UnsupportedByDriver',
            ),
        ),
      );
      await eventually(
        'the pod is named',
        async () =>
          (await fixture.whyNot('web'))['AgentNotReady']?.includes(`${namespace}/server`) === true,
      );
      expect(await fixture.isEnforced('web', '0/1')).toBe(true);
      await waitInSync(cluster, namespace, [zone('lan1', 'ovn-net1')]);
    });
  });

  it('make nothing for a CNF that asks for none', async () => {
    const namespace = await cluster.createNamespace('policy-unasked');
    const fixture = policiesIn(cluster, namespace);
    await fixture.pod('server', '10.99.5.1', { role: 'server' });
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    await apply(cluster, namespace, policy('web'), zone('lan1', 'ovn-net1'));
    await waitInSync(cluster, namespace, [zone('lan1', 'ovn-net1')]);
    const [cnf] = await observePods(cluster, namespace, PURPOSE);
    expect(await fixture.tableOf(cnf?.name ?? '')).toBe('');
    expect(await fixture.enforcements('web')).toEqual([]);
  });
});
