/**
 * NetworkPolicies at a CNF of two pods: what is in the kernel of each OpenWRT, and that nothing is
 * called enforced that is not.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { agentsDown } from '../stack/faults.ts';
import { readJournal } from '../stack/journal.ts';
import { observePods } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import { eventually, policiesIn } from '../stack/policies.ts';
import { control } from '../stack/simulator.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const ANNOTATION = 'sdewan.akraino.org/policy-networks';
/** What is promised of a deleted policy whose last agent comes back, on a machine that has time. */
const GONE_WITHIN_MS = 2_000;
/** On one of two cores that runs all tests. */
const BUSY = 5;

describe('NetworkPolicies at a CNF of two pods', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let cnfs: string[] = [];
  let fixture: ReturnType<typeof policiesIn>;

  const clients = (role: string): object[] => [{ podSelector: { matchLabels: { role } } }];
  const policy = (name: string, { from = clients('client') } = {}): object => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name },
    spec: {
      podSelector: { matchLabels: { role: 'server' } },
      ingress: [
        {
          from,
          ports: [{ protocol: 'TCP', port: 8080 }],
        },
      ],
    },
  });
  const tables = (): Promise<string[]> => Promise.all(cnfs.map((name) => fixture.tableOf(name)));
  const inAll = async (holds: (table: string) => boolean): Promise<boolean> =>
    (await tables()).every(holds);
  beforeAll(async () => {
    namespace = await cluster.createNamespace('network-policies');
    fixture = policiesIn(cluster, namespace);
    await fixture.pod('server', '10.99.1.1', { role: 'server' });
    await fixture.pod('client', '10.99.1.2', { role: 'client' });
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 2,
      annotations: { [ANNOTATION]: 'cluster' },
    });
    cnfs = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
  });

  describe('a policy', () => {
    const NAME = 'web';
    beforeEach(async () => {
      await apply(cluster, namespace, policy(NAME));
      await eventually('the policy is enforced', () => fixture.isEnforced(NAME));
    });

    it('is in the kernel of both pods, and its pods are counted', async () => {
      for (const table of await tables()) {
        expect(table).toContain(fixture.chainOf(NAME));
        expect(table).toContain('tcp dport 8080 ip saddr @');
        expect(table).toContain('10.99.1.1');
        expect(table).toContain('10.99.1.2');
      }
      const [told] = await fixture.enforcements(NAME);
      expect(told?.status).toMatchObject({ inSync: true, selectedPods: { summary: '1/1' } });
      const about = `involvedObject.kind=NetworkPolicy,involvedObject.name=${NAME}`;
      await eventually('the policy has an Event', async () => {
        const events = ['get', 'events', '-n', namespace, `--field-selector=${about}`];
        return (await cluster.kubectl(events)).stdout.includes('Enforced');
      });
    });

    it('follows pods and labels, without a reload of the firewall', async () => {
      const reloads = async (): Promise<number[]> =>
        Promise.all(
          cnfs.map(
            async (name) =>
              (await readJournal(cluster, { namespace, pod: name })).filter(
                ({ event }) => event === 'reload',
              ).length,
          ),
        );
      const before = await reloads();
      await fixture.pod('other', '10.99.1.3', { role: 'none' });
      await fixture.relabel('other', 'role=client');
      await eventually('both have the address', () =>
        inAll((table) => table.includes('10.99.1.3')),
      );
      await fixture.relabel('other', 'role=none');
      await eventually('none has it', () => inAll((table) => !table.includes('10.99.1.3')));
      await fixture.relabel('other', 'role=server');
      await eventually('two pods are protected', () => fixture.isEnforced(NAME, '2/2'));
      const force = ['--grace-period=0', '--force'];
      await cluster.kubectl(['delete', 'pod', 'other', '-n', namespace, ...force]);
      await eventually('none has it', () => inAll((table) => !table.includes('10.99.1.3')));
      expect(await reloads()).toEqual(before);
    });

    it('has no pod that has ended, and lets nothing pass as from an address that two have', async () => {
      await fixture.pod('ending', '10.99.1.4', { role: 'client' });
      await fixture.pod('twin', '10.99.1.4', { role: 'none' });
      await fixture.pod('single', '10.99.1.5', { role: 'client' });
      await eventually("both have the address that is one pod's", () =>
        inAll((table) => table.includes('10.99.1.5')),
      );
      await eventually('none has that of which it is not certain whose it is', () =>
        inAll((table) => !table.includes('10.99.1.4')),
      );
      await fixture.ends('twin');
      await eventually("it is the older one's again", () =>
        inAll((table) => table.includes('10.99.1.4')),
      );
      await fixture.ends('ending');
      await fixture.ends('single');
      await eventually('none has an address of pods that have ended', () =>
        inAll((table) => !table.includes('10.99.1.4') && !table.includes('10.99.1.5')),
      );
      const force = ['--grace-period=0', '--force'];
      const pods = ['pod/ending', 'pod/twin', 'pod/single'];
      await cluster.kubectl(['delete', ...pods, '-n', namespace, ...force]);
    });

    it('follows labels of namespaces', async () => {
      const other = await cluster.createNamespace('network-policies-other');
      await policiesIn(cluster, other).pod('theirs', '10.99.1.6', { role: 'client' });
      const team = { namespaceSelector: { matchLabels: { team: 'edge' } }, podSelector: {} };
      await apply(cluster, namespace, policy('teams', { from: [team] }));
      await eventually('it is enforced', () => fixture.isEnforced('teams'));
      expect(await inAll((table) => !table.includes('10.99.1.6'))).toBe(true);
      const label = (value: string): Promise<unknown> =>
        cluster.kubectl(['label', 'namespace', other, '--overwrite', `team=${value}`]);
      await label('edge');
      await eventually('both have the address', () =>
        inAll((table) => table.includes('10.99.1.6')),
      );
      await label('none');
      await eventually('none has it', () => inAll((table) => !table.includes('10.99.1.6')));
      await cluster.kubectl(['delete', 'netpol', 'teams', '-n', namespace]);
    });

    it('does not cut off the CNF in whose namespace all is denied', async () => {
      await apply(cluster, namespace, {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'deny' },
        spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
      });
      await eventually('it is enforced', () => fixture.isEnforced('deny', `2/${2 + cnfs.length}`));
      expect((await fixture.whyNot('deny'))['IsTheEnforcer']?.toSorted()).toEqual(
        cnfs.map((name) => `${namespace}/${name}`).sort(),
      );
      const pods = await observePods(cluster, namespace, PURPOSE);
      expect(pods.map(({ ready }) => ready)).toEqual([true, true]);
      await cluster.kubectl(['delete', 'netpol', 'deny', '-n', namespace]);
      await eventually(
        'agents have heard of its end',
        async () =>
          (await inAll((table) => !table.includes(fixture.chainOf('deny')))) &&
          (await fixture.enforcements('deny')).length === 0,
      );
    });

    it('is back after the ruleset was flushed', async () => {
      const [first = ''] = cnfs;
      const target = { namespace, pod: first };
      await control({ cluster }, target, { method: 'POST', route: 'flush-ruleset' });
      await eventually('the table is back', async () =>
        (await fixture.tableOf(first)).includes(fixture.chainOf(NAME)),
      );
    });

    it('changes as a difference: the object stays', async () => {
      const [before] = await fixture.enforcements(NAME);
      await apply(cluster, namespace, policy(NAME, { from: clients('nobody') }));
      await eventually('the client is out', () => inAll((table) => !table.includes('10.99.1.2')));
      const [after] = await fixture.enforcements(NAME);
      expect(after?.metadata.uid).toBe(before?.metadata.uid);
    });
  });

  it('is not called enforced while an agent does not run, and is when both pods have it', async () => {
    const [frozen = '', other = ''] = cnfs;
    const restore = await agentsDown(cluster, namespace, PURPOSE, [frozen]);
    await apply(cluster, namespace, policy('late'));
    await eventually('the other pod has it', async () =>
      (await fixture.tableOf(other)).includes(fixture.chainOf('late')),
    );
    await eventually('it says why it is not enforced', async () =>
      (await fixture.enforcements('late')).some(
        ({ status }) =>
          status.selectedPods?.summary === '0/1' &&
          status.notEnforced?.some(
            ({ reason, examples }) =>
              reason === 'AgentNotReady' && examples.includes(`${namespace}/server`),
          ),
      ),
    );
    expect(await fixture.tableOf(frozen)).not.toContain(fixture.chainOf('late'));
    await restore();
    await eventually('it is enforced', () => fixture.isEnforced('late'));
    expect(await inAll((table) => table.includes(fixture.chainOf('late')))).toBe(true);
  });

  it('deleted while an agent does not run: it stays, names the pod, and goes when that has removed it', async () => {
    await apply(cluster, namespace, policy('gone'));
    await eventually('it is enforced', () => fixture.isEnforced('gone'));
    const [frozen = '', other = ''] = cnfs;
    const restore = await agentsDown(cluster, namespace, PURPOSE, [frozen]);
    await cluster.kubectl(['delete', 'networkpolicy', 'gone', '-n', namespace]);
    await eventually(
      'the other pod has removed it',
      async () => !(await fixture.tableOf(other)).includes(fixture.chainOf('gone')),
    );
    await eventually('it names the pod that has not', async () =>
      (await fixture.enforcements('gone')).some(
        ({ metadata, status }) =>
          metadata.deletionTimestamp !== undefined && status.message?.includes(frozen) === true,
      ),
    );
    expect(await fixture.tableOf(frozen)).toContain(fixture.chainOf('gone'));
    const gone = await fixture.enforcementGone('gone');
    const returnedAt = Date.now();
    await restore();
    await eventually('it is gone', async () => gone.at() !== undefined);
    const ms = (gone.at() ?? Infinity) - returnedAt;
    console.log(`a deleted policy was gone ${ms} ms after the return of the last agent`);
    expect(ms).toBeLessThan(BUSY * GONE_WITHIN_MS);
    expect(await fixture.enforcements('gone')).toEqual([]);
    expect(await inAll((table) => !table.includes(fixture.chainOf('gone')))).toBe(true);
  });

  it('let the coordinator alone write what is enforced, or delete it, whatever RBAC says', async () => {
    const user = `system:serviceaccount:${namespace}:cnf`;
    const role = ['create', 'role', 'writer', '-n', namespace, '--verb=*'];
    await cluster.kubectl([...role, '--resource=*.network.sdewan.akraino.org']);
    const to = [`--serviceaccount=${namespace}:cnf`, '--role=writer'];
    await cluster.kubectl(['create', 'rolebinding', 'writer', '-n', namespace, ...to]);
    await apply(cluster, namespace, policy('fenced'));
    await eventually('it is enforced', () => fixture.isEnforced('fenced'));
    const tried = async (...args: string[]): Promise<string> =>
      (await cluster.kubectl([...args, '-n', namespace, `--as=${user}`], { allowFailure: true }))
        .stderr;
    for (const kind of ['addressgroups', 'policyenforcements']) {
      const refused = `the coordinator alone writes ${kind}: change the NetworkPolicy`;
      expect(await tried('delete', kind, '--all', '--wait=false')).toContain(refused);
      expect(await tried('label', kind, '--all', 'mine=x')).toContain(refused);
    }
  });

  it('is gone from both pods when the CNF does not ask for policies any more', async () => {
    await apply(cluster, namespace, policy('last'));
    await eventually('it is enforced', () => fixture.isEnforced('last'));
    const pods = cnfs.map((name) => `pod/${name}`);
    await cluster.kubectl(['annotate', '-n', namespace, ...pods, `${ANNOTATION}-`]);
    await eventually('both tables are gone', () => inAll((table) => table === ''));
    await eventually('nothing is left', async () => {
      const { stdout } = await cluster.kubectl(['get', 'ag,pe', '-n', namespace, '-o', 'name']);
      return stdout.trim() === '';
    });
  });
});
