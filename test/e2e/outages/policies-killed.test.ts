/**
 * Who brings policies into a CNF's kernel is killed, again and again, while they change: the table
 * is exact in the end, and on the way no packet passes that is denied before and after, and none is
 * denied that passes before and after. Judged by the table of each pod, read all the while.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import type { Packet } from '../../kernel/policy/evaluator.ts';
import { passesTable, readTable } from '../../kernel/policy/nft-evaluator.ts';
import { createCnf } from '../../stack/cnf.ts';
import { coordinatorDown, coordinatorReady } from '../../stack/faults.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import { asWritten, policiesIn } from '../../stack/policies.ts';
import { control } from '../../stack/simulator.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';
const CHANGES = 200;
/** A kill comes after each so many changes. */
const KILL_EVERY = 50;
const CHANGE_MS = 25;

const SERVER = '10.99.2.1';
const FRIEND = '10.99.2.2';
const STRANGER = '10.99.2.3';
const CLIENTS = Array.from({ length: 8 }, (_, at) => ({
  name: `client-${at}`,
  address: `10.99.2.${10 + at}`,
  crew: String(at % 4),
}));
const CREWS = ['0', '1', '2', '3'];

const policyResource = resourceV1('networking.k8s.io', 'networkpolicies', 'NetworkPolicy');
const podResource = resourceV1('', 'pods', 'Pod');

/** What the policies say now. */
type Said = { clients: Set<string>; crews: Set<string>; hasSecondPort: boolean };

const policy = (name: string, ingress: readonly object[]) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name },
  spec: {
    podSelector: { matchLabels: { role: 'server' } },
    policyTypes: ['Ingress'],
    ingress,
  },
});
const from = (labels: Record<string, string>, ...ports: number[]): object => ({
  from: [{ podSelector: { matchLabels: labels } }],
  ports: ports.map((port) => ({ protocol: 'TCP', port })),
});
const web = (said: Said): ReturnType<typeof policy> =>
  policy('web', [from({ role: 'client' }, 8080, ...(said.hasSecondPort ? [9090] : []))]);
const ofCrew = (crew: string): ReturnType<typeof policy> =>
  policy(`crew-${crew}`, [from({ crew }, 7070)]);

const packet = (source: string, port: number): Packet => ({
  from: source,
  to: SERVER,
  protocol: 'TCP',
  port,
});
/** Whatever changes. */
const ALWAYS = [packet(FRIEND, 8080)];
const NEVER = [
  ...[8080, 9090, 7070].map((port) => packet(STRANGER, port)),
  ...CLIENTS.map(({ address }) => packet(address, 6060)),
];
const expected = (said: Said): string[] =>
  CLIENTS.flatMap(({ address, crew, name }) => [
    ...(said.clients.has(name) ? [`${address} 8080`] : []),
    ...(said.clients.has(name) && said.hasSecondPort ? [`${address} 9090`] : []),
    ...(said.crews.has(crew) ? [`${address} 7070`] : []),
  ]).sort();

const wrongIn = (listing: string): string[] => {
  if (listing === '') return ['no table'];
  const table = readTable(asWritten(listing));
  return [
    ...NEVER.filter((one) => passesTable(table, one)),
    ...ALWAYS.filter((one) => !passesTable(table, one)),
  ].map((one) => JSON.stringify(one));
};
const passing = (listing: string): string[] => {
  if (listing === '') return ['all'];
  const table = readTable(asWritten(listing));
  return CLIENTS.flatMap(({ address }) => [8080, 9090, 7070].map((port) => packet(address, port)))
    .filter((one) => passesTable(table, one))
    .map(({ from: source, port }) => `${source} ${port}`)
    .sort();
};

describe(`killed during ${CHANGES} changes of policies`, async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let cnfs: string[] = [];
  let fixture: ReturnType<typeof policiesIn>;
  let client: KubeClient;
  const said: Said = { clients: new Set(), crews: new Set(), hasSecondPort: false };

  const exact = async (what: string): Promise<void> => {
    await until(what, async () => {
      const tables = await Promise.all(
        cnfs.map((name) => fixture.tableOf(name).catch(() => undefined)),
      );
      const wanted = expected(said).join();
      return tables.every(
        (table) =>
          table !== undefined && passing(table).join() === wanted && wrongIn(table).length === 0,
      )
        ? true
        : undefined;
    });
  };

  beforeAll(async () => {
    client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
    namespace = await cluster.createNamespace('policies-killed');
    fixture = policiesIn(cluster, namespace);
    await fixture.pod('server', SERVER, { role: 'server' });
    await fixture.pod('friend', FRIEND, { role: 'client' });
    await fixture.pod('stranger', STRANGER, { role: 'none' });
    for (const { address, crew, name } of CLIENTS)
      await fixture.pod(name, address, { role: 'none', crew });
    await createCnf(cluster, {
      namespace,
      purpose: PURPOSE,
      replicas: 2,
      annotations: { 'sdewan.akraino.org/policy-networks': 'cluster' },
    });
    cnfs = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
    await apply(cluster, namespace, policy('deny', []), web(said));
    await exact('both have the first policies');
  });
  afterAll(() => client.close());

  const change = async (at: number): Promise<void> => {
    if (at % 10 === 3) {
      const crew = CREWS[Math.floor(at / 10) % CREWS.length] ?? '';
      const { metadata, ...rest } = ofCrew(crew);
      if (said.crews.delete(crew))
        await client.delete(policyResource, { namespace, name: metadata.name });
      else {
        said.crews.add(crew);
        await client.create(policyResource, { ...rest, metadata: { ...metadata, namespace } });
      }
    } else if (at % 10 === 7) {
      said.hasSecondPort = !said.hasSecondPort;
      const body = { spec: { ingress: web(said).spec.ingress } };
      const patch = { type: 'merge', body } as const;
      await client.patch(policyResource, { namespace, name: 'web' }, { patch });
    } else {
      const name = CLIENTS[at % CLIENTS.length]?.name ?? '';
      const role = said.clients.delete(name) ? 'none' : 'client';
      if (role === 'client') said.clients.add(name);
      const patch = { type: 'merge', body: { metadata: { labels: { role } } } } as const;
      await client.patch(podResource, { namespace, name }, { patch });
    }
  };

  const killAll = async (where: string, pods: readonly string[], container: string) => {
    for (const pod of pods) {
      const kill = () => cluster.killContainer({ namespace: where, pod, container }, 'SIGKILL');
      // Kubelets wait before they start again what has ended often.
      await until(`${container} of ${pod} runs and is killed`, () =>
        kill().then(
          () => true,
          () => undefined,
        ),
      );
    }
  };
  const coordinators = async (): Promise<string[]> => {
    const names = ['-l', 'app=sdewan-coordinator', '-o', 'jsonpath={.items[*].metadata.name}'];
    const { stdout } = await cluster.kubectl(['get', 'pods', '-n', 'sdewan-system', ...names]);
    return stdout.split(' ');
  };
  const ask = async (route: string): Promise<void> => {
    for (const pod of cnfs)
      await control({ cluster }, { namespace, pod }, { method: 'POST', route });
  };

  it.each<[string, () => Promise<void>]>([
    [
      'both coordinators',
      async () => killAll('sdewan-system', await coordinators(), 'coordinator'),
    ],
    ['the agents', () => killAll(namespace, cnfs, 'sdewan-agent')],
    ['rpcd', () => ask('kill-rpcd')],
    ['OpenWRT', () => ask('restart')],
  ])('%s', async (_who, kill) => {
    const over = new AbortController();
    const wrong: string[] = [];
    let looks = 0;
    const watch = async (pod: string): Promise<void> => {
      while (!over.signal.aborted) {
        // One that is being killed does not answer.
        const table = await fixture.tableOf(pod).catch(() => undefined);
        if (table !== undefined) {
          looks += 1;
          for (const one of wrongIn(table)) wrong.push(`${pod}: ${one}`);
        }
        await sleep(10);
      }
    };
    const watching = cnfs.map(watch);
    for (let at = 0; at < CHANGES; at += 1) {
      await change(at);
      if (at % KILL_EVERY === KILL_EVERY - 1) await kill();
      const looked = looks;
      await sleep(CHANGE_MS);
      await until('a look after the change', async () => looks > looked || undefined);
    }
    await exact('both have what the policies say');
    over.abort();
    await Promise.all(watching);
    expect(wrong).toEqual([]);
    await coordinatorReady(cluster);
    await until('every policy is enforced', async () =>
      (await fixture.isEnforced('web')) && (await fixture.isEnforced('deny')) ? true : undefined,
    );
  });

  it('coordinators that come last find what came and went before them', async () => {
    const restore = await coordinatorDown(cluster);
    for (let at = 0; at < 20; at += 1) await change(at);
    await fixture.pod('late', '10.99.2.50', { role: 'client' });
    await restore();
    await exact('both have what the policies say');
    const isThere = until('both have the pod', async () => {
      const tables = await Promise.all(cnfs.map((name) => fixture.tableOf(name)));
      return tables.every((table) => table.includes('10.99.2.50')) ? true : undefined;
    });
    await expect(isThere).resolves.toBe(true);
  });
});
