import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { createWatchStream, type WatchStream } from '#shared/kube/testing/watch-stream.ts';
import { NETWORK_STATUS_ANNOTATION } from '#shared/names.ts';
import { groupId, type Group } from '#shared/policy/group-members.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { networkObject } from '../network-ports/testing.ts';
import { LONGEST_POLICY } from './policy-shares.ts';
import { createPolicySources, type PolicyReader, type PolicySources } from './sources.ts';

const nothing = { onTouched: () => {}, onPolicies: () => {} };

it('leaves nothing on the signal of the program, however long policies are not asked for', async () => {
  const client = {} as unknown as KubeClient;
  const clock = createManualClock();
  const end = new AbortController();
  const policySources = createPolicySources({ client, clock, log: silentLogger });
  policySources.join({ ...nothing, isWanted: () => false });
  const running = policySources.run(end.signal);
  for (let second = 0; second < 100; second += 1) await clock.step();
  await clock.untilSleeping();
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
  end.abort();
  await expect(running).resolves.toBeUndefined();
});

type Written = { kind: string; metadata: object } & Record<string, unknown>;
type Watch = { plural: string } & Pick<WatchStream, 'push'>;

/** What the API server has of each resource, by its plural. */
let served: Record<string, Written[]>;
let lists: string[];
let watches: Watch[];
let version = 1;

const client = {
  list: async (resource: { plural: string; schema: { parse: (it: unknown) => unknown } }) => {
    lists.push(resource.plural);
    const items = (served[resource.plural] ?? []).map((one) => resource.schema.parse(one));
    return { items, resourceVersion: String(version) };
  },
  watch: async ({ plural }: { plural: string }, { signal }: { signal: AbortSignal }) => {
    const { push, until } = createWatchStream();
    watches.push({ plural, push });
    return until(signal);
  },
} as unknown as KubeClient;

const object = (kind: string, name: string, rest: object = {}): Written => {
  version += 1;
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: kind === 'Namespace' ? '' : 'x',
      uid: `uid-${name}`,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    ...rest,
  };
};
const pod = (name: string, labels: object, annotations: object = {}): Written => {
  const podIP = `10.0.0.${name.charCodeAt(0)}`;
  const made = object('Pod', name, { spec: {}, status: { podIP } });
  return { ...made, metadata: { ...made.metadata, labels, annotations } };
};
const longPolicy = (name: string): Written =>
  object('NetworkPolicy', name, {
    spec: {
      podSelector: { matchLabels: { app: 'a'.repeat(LONGEST_POLICY - 200) } },
    },
  });
const groupOf = (app: string): [string, Group] => {
  const group: Group = { pods: { matchLabels: { app } }, namespaces: { name: 'x' } };
  return [groupId(group), group];
};

describe('with two who enforce', () => {
  let clock: ManualClock;
  let policySources: PolicySources;
  let end: AbortController;
  let running: Promise<void>;
  const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 60_000 });
  const push = (plural: string, type: string, one: Written): void =>
    watches.findLast((watch) => watch.plural === plural)?.push(type, one);

  beforeEach(() => {
    served = {};
    lists = [];
    watches = [];
    clock = createManualClock();
    end = new AbortController();
    policySources = createPolicySources({ client, clock, log: silentLogger });
  });
  afterEach(async () => {
    end.abort();
    await running;
  });
  const start = async (): Promise<void> => {
    running = policySources.run(end.signal);
    await until(() => policySources.isKnown() && watches.length === 6);
  };
  const reader = (): PolicyReader & { touched: string[]; ports: number } => {
    const told = {
      touched: [] as string[],
      ports: 0,
      isWanted: () => true,
      onPolicies: () => {},
      onTouched: (groups: ReadonlySet<string>) => void told.touched.push(...groups),
      onPorts: () => void (told.ports += 1),
    };
    return told;
  };

  it('has one watch of each resource, and tells each of its own groups', async () => {
    const [one, other] = [reader(), reader()];
    policySources.join(one).follow(new Map([groupOf('web'), groupOf('both')]));
    const joined = policySources.join(other);
    joined.follow(new Map([groupOf('db'), groupOf('both')]));
    await start();
    expect(lists.toSorted()).toEqual([
      'managednetworks',
      'multi-networkpolicies',
      'namespaces',
      'networkpolicies',
      'networkports',
      'pods',
    ]);
    push('pods', 'ADDED', pod('a', { app: 'web' }));
    push('pods', 'ADDED', pod('b', { app: 'both' }));
    push('pods', 'ADDED', pod('c', { app: 'nobody' }));
    await until(() => other.touched.length > 0);
    const [[web], [both]] = [groupOf('web'), groupOf('both')];
    expect([one.touched, other.touched]).toEqual([[web, both], [both]]);
    joined.follow(new Map());
    expect(policySources.groups.members(web)).toEqual(['10.0.0.97']);
    expect(policySources.groups.selected(web)).toHaveLength(1);
  });

  it('tells of pods that say something of ports, and of those that do not say it any more', async () => {
    const told = reader();
    policySources.join(told);
    await start();
    const annotations = { 'sdewan.akraino.org/ports': '[]' };
    push('pods', 'ADDED', pod('a', {}));
    push('pods', 'ADDED', pod('b', {}, annotations));
    await until(() => told.ports === 1);
    expect(policySources.podsWithPorts().map(({ metadata }) => metadata.name)).toEqual(['b']);
    push('pods', 'MODIFIED', pod('b', {}, annotations));
    push('pods', 'MODIFIED', pod('b', {}));
    await until(() => policySources.podsWithPorts().length === 0);
    expect(told.ports).toBe(2);
  });

  it('isolates no address of a router, also of one that a managed network has since', async () => {
    const scope = [{ name: 'lan', subnets: ['10.1.0.0/24'] }];
    const [, group] = groupOf('web');
    const lan = groupId({ ...group, scope });
    const network = (some: object): Written => {
      const { spec } = networkObject({ names: ['x/lan'] });
      const subnets = spec.subnets?.map((subnet) => ({ ...subnet, ...some }));
      const conditions = [
        { type: 'Adopted', status: 'True', reason: 'Adopted', message: '', lastTransitionTime: '' },
      ];
      const rest = { spec: { ...spec, subnets }, status: { conditions } };
      return object('ManagedNetwork', 'edge-net', rest);
    };
    const said = JSON.stringify([{ name: 'x/lan', interface: 'net1', ips: ['10.1.0.1'] }]);
    const liar = pod('a', { app: 'web' }, { [NETWORK_STATUS_ANNOTATION]: said });
    served['pods'] = [{ ...liar, spec: { nodeName: 'n' } }];
    served['managednetworks'] = [network({})];
    policySources.join(reader()).follow(new Map([[lan, { ...group, scope }]]));
    await start();
    const members = () => policySources.groups.members(lan);
    await until(() => members().join() === '?10.1.0.1');
    push('managednetworks', 'MODIFIED', network({ gateway: '10.1.0.1' }));
    await until(() => members().length === 0);
    expect(policySources.groups.selected(lan)).toHaveLength(1);
  });

  it('reads again a policy that found no room, when there is some', async () => {
    policySources.join(reader());
    served['networkpolicies'] = Array.from({ length: 5 }, (_, at) => longPolicy(`p${at}`));
    await start();
    const unread = () =>
      policySources.policies().flatMap((one) => ('unread' in one ? one.name : []));
    expect(unread()).toEqual(['p3', 'p4']);
    const [one, other] = served['networkpolicies'].splice(0, 2);
    push('networkpolicies', 'DELETED', one!);
    const next = longPolicy('p9');
    served['networkpolicies'].push(next);
    push('networkpolicies', 'ADDED', next);
    push('networkpolicies', 'DELETED', other!);
    await until(() => policySources.policies().length === 4);
    expect(unread()).toEqual(['p3', 'p4']);
    clock.advance(10_000);
    await until(() => unread().length === 1);
    expect(unread()).toEqual(['p4']);
  });
});
