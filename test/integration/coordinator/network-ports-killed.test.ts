/**
 * A Deployment of a hundred pods on two managed networks, and pods that come back under their
 * names: all of them come, go and end at random while the coordinator is killed. Judged from
 * outside, by all that the API server has stored of pods and NetworkPorts, in its order. The real
 * scheduler binds the pods; what a kubelet says of them, the test says.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNotFound } from '#shared/kube/errors.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { isLater, resourceV1, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { randomOfTest } from '../../run/random.ts';
import type { Fixture } from '../admission/fixture.ts';
import { eventually } from '../support/eventually.ts';
import {
  addressesOf,
  createManagedNetworks,
  GATED,
  nodus,
  podSpec,
  seenPods,
  type ManagedNetworks,
  type Seen,
} from './managed-networks.ts';

const KILLS = Number(process.env['SDEWAN_PORT_KILLS'] ?? 3);
const CHANGES_PER_KILL = 12;
const REPLICAS = 100;
const SINGLE = Array.from({ length: 8 }, (_, at) => `single-${at}`);
/** So few that pods get what others of their owner have just left. */
const ADDRESSES = REPLICAS + SINGLE.length + 4;
const NODE = 'killed';
/** At most so long after what comes before it. */
const CHANGE_MS = 150;
const KILL_MS = 800;
const AT_ONCE = { gracePeriodSeconds: 0 };

const configMaps = resourceV1('', 'configmaps', 'ConfigMap');
const deployments = resourceV1('apps', 'deployments', 'Deployment');

let networks: ManagedNetworks;
let fixture: Fixture;
let namespace: string;
const over = new AbortController();
const watches: Promise<void>[] = [];

beforeAll(async () => {
  networks = await createManagedNetworks([NODE]);
  ({ namespace, fixture } = networks);
});
afterAll(async () => {
  over.abort();
  await Promise.all(watches);
  await networks.close();
});

const spec = podSpec({ ...GATED, nodeSelector: { 'kubernetes.io/hostname': NODE } });
const annotations = nodus('net-left', 'net-right');
const hasEnded = ({ status }: Seen): boolean => status?.phase === 'Failed';

/** `user`: the uid of the pod that uses these addresses, or that has that NetworkPort, if any. */
type Stored = Pick<KubeObject, 'metadata'> & {
  what: 'pod' | 'port';
  user: string | undefined;
  addresses: readonly string[];
};

/** At each moment each address is used by the pod alone that has its NetworkPort. */
const wrongIn = (stored: readonly Stored[]): string[] => {
  const users = { pod: new Map<string, Set<string>>(), port: new Map<string, Set<string>>() };
  const usersOf = (what: Stored['what'], address: string): Set<string> =>
    users[what].getOrInsertComputed(address, () => new Set());
  const isWrong = (address: string): boolean => {
    const [pods, ports] = [usersOf('pod', address), usersOf('port', address)];
    return pods.size > 1 || ports.size > 1 || !pods.isSubsetOf(ports);
  };
  const before = new Map<string, Stored>();
  return stored
    .toSorted((one, other) => (isLater(one, other) ? 1 : -1))
    .flatMap((next) => {
      const { what, metadata, user, addresses } = next;
      const last = before.get(metadata.uid);
      for (const address of last?.addresses ?? []) usersOf(what, address).delete(last?.user ?? '');
      if (user !== undefined) for (const address of addresses) usersOf(what, address).add(user);
      before.set(metadata.uid, next);
      const wrong = addresses.filter(isWrong);
      return wrong.map((text) => `${what} ${metadata.name}, ${metadata.resourceVersion}: ${text}`);
    });
};

describe(`pods that come and go while the coordinator is killed ${KILLS} times`, () => {
  it('never share an address, each have theirs, and leave nothing', async () => {
    const random = randomOfTest({ SDEWAN_PORT_KILLS: String(KILLS) });
    const stored: Stored[] = [];
    const pods = new Map<string, Seen>();
    const follow = <T extends KubeObject>(
      resource: ResourceType<T>,
      onEvent: (object: T, isThere: boolean) => Stored,
      selection = {},
    ): void => {
      const reflector = new Reflector<T>({
        client: fixture.client,
        resource,
        selection,
        log: silentLogger,
        onEvent: ({ type, object }) => void stored.push(onEvent(object, type !== 'deleted')),
      });
      watches.push(reflector.run(over.signal));
    };
    follow(networkPortResource, ({ metadata, spec: { addresses, claim }, status }, isThere) => {
      const user = isThere && status?.releasedAt === undefined ? claim.uid : undefined;
      return { metadata, what: 'port', user, addresses };
    });
    const onPod = (pod: Seen, isThere: boolean): Stored => {
      const { metadata } = pod;
      if (isThere) pods.set(metadata.uid, pod);
      else pods.delete(metadata.uid);
      if (isThere) void asKubelet(pod).catch(ignoreGone);
      const user = isThere && !hasEnded(pod) ? metadata.uid : undefined;
      return {
        metadata,
        what: 'pod',
        user,
        addresses: addressesOf(pod).flatMap((text) => text.split(' ')),
      };
    };
    follow(seenPods, onPod, { namespace });

    const remove = ({ metadata: { name } }: Seen, options = {}): Promise<void> =>
      fixture.client.delete(seenPods, { namespace, name }, options).catch(ignoreGone);
    const say = async ({ metadata: { name } }: Seen, phase: string): Promise<void> => {
      const patch = { type: 'merge', body: { status: { phase } } } as const;
      await fixture.client.patch(seenPods, { namespace, name }, { patch, subresource: 'status' });
    };
    const asKubelet = async (pod: Seen): Promise<void> => {
      if (pod.spec.nodeName === undefined) return;
      if (pod.metadata.deletionTimestamp !== undefined) await remove(pod, AT_ONCE);
      else if (pod.status?.phase === 'Pending') await say(pod, 'Running');
    };
    const scale = async (replicas: number): Promise<void> => {
      const patch = { type: 'merge', body: { spec: { replicas } } } as const;
      await fixture.client.patch(deployments, { namespace, name: 'many' }, { patch });
    };
    let owner = {};
    const single = async (name: string): Promise<void> => {
      const metadata = { name, namespace, annotations, ownerReferences: [owner] };
      await fixture.client.create(seenPods, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
    };
    const some = (count: number): Seen[] => {
      const all = [...pods.values()].filter(({ metadata }) => !SINGLE.includes(metadata.name));
      return Array.from({ length: Math.min(count, all.length) }, () => random.pick(all));
    };
    const changes: (() => Promise<unknown>)[] = [
      () => scale(REPLICAS - random.int(40)),
      () => Promise.all(some(8).map((pod) => remove(pod))),
      () => Promise.all(some(8).map((pod) => remove(pod, AT_ONCE))),
      () => Promise.all(some(4).map((pod) => say(pod, 'Failed').catch(ignoreGone))),
      async () => {
        const name = random.pick(SINGLE);
        await fixture.client.delete(seenPods, { namespace, name }, AT_ONCE);
        await single(name);
      },
    ];

    for (const [at, name] of ['left', 'right'].entries())
      await networks.ready(name, 70 + at, ADDRESSES);
    const selector = { matchLabels: { app: 'many' } };
    const { apiVersion, kind, metadata } = await fixture.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owner', namespace },
    });
    owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
    await networks.applied({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'many', namespace },
      spec: {
        replicas: REPLICAS,
        selector,
        template: { metadata: { labels: selector.matchLabels, annotations }, spec },
      },
    });
    await Promise.all(SINGLE.map(single));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const killAfterMs = random.int(KILL_MS);
      const changing = (async () => {
        for (let change = 0; change < CHANGES_PER_KILL; change += 1) {
          await random.pick(changes)();
          await sleep(random.int(CHANGE_MS));
        }
      })();
      await sleep(killAfterMs);
      process.kill(fixture.pid(), 'SIGKILL');
      await fixture.stopCoordinator();
      await fixture.startCoordinator();
      await changing;
    }
    await scale(REPLICAS);

    const live = async (): Promise<Seen[]> =>
      (await fixture.client.list(seenPods, { namespace })).items.filter((pod) => !hasEnded(pod));
    await eventually(
      async () => (await live()).filter(({ status }) => status?.phase === 'Running').length,
    ).toBe(REPLICAS + SINGLE.length);
    const having = (await live())
      .map((pod) => [pod.metadata.uid, ...addressesOf(pod)].join(' '))
      .toSorted();
    await eventually(async () => {
      const given = Map.groupBy(
        (await fixture.client.list(networkPortResource)).items.filter(
          ({ status }) => status?.releasedAt === undefined,
        ),
        (port) => port.spec.claim.uid,
      );
      return [...given]
        .map(([uid, ports]) =>
          [
            uid,
            ...ports
              .toSorted((one, other) => (one.spec.network < other.spec.network ? -1 : 1))
              .map((port) => port.spec.addresses.join(' ')),
          ].join(' '),
        )
        .toSorted();
    }).toEqual(having);
    expect(having.every((line) => line.split(' ').length === 5)).toBe(true);

    await fixture.client.delete(deployments, { namespace, name: 'many' });
    await Promise.all([...pods.values()].map((pod) => remove(pod, AT_ONCE)));
    await eventually(async () => (await fixture.client.list(networkPortResource)).items).toEqual(
      [],
    );
    expect(pods.size).toBe(0);
    const wrong = wrongIn(stored);
    expect(wrong).toEqual([]);
    const counted = Object.groupBy(stored, ({ what }) => what);
    console.log(
      `judged: ${counted.pod?.length} versions of pods, ${counted.port?.length} of NetworkPorts`,
    );
  });
});

const ignoreGone = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};
