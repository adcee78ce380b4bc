import { describe, expect, it } from 'vitest';
import { POOL_LABEL } from '#shared/names.ts';
import { BULK_MS } from '../../neutron/ports.ts';
import { annotationsFor, decidePod, decidePort, REST_MS, type Claim, type Wait } from './decide.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import {
  claimsOf,
  known,
  networkObject,
  pod,
  port,
  reasonOf,
  view,
  type SomeKnown,
} from './testing.ts';

describe('a pod that waits', () => {
  it('gets the first free address, in both families', () => {
    const decision = decidePod(pod('a'), view([known({ ports: [port(1, 'b')] })]));
    expect(claimsOf(decision)).toEqual(['net0 edge-net-2 10.1.0.2 fd00::2']);
  });

  it('gets all or none: one network is full', () => {
    const full = known({
      name: 'full',
      names: ['net-b'],
      ports: [1, 2, 3].map((at) => port(at, 'x', 'full')),
    });
    const both = pod('a', { interfaces: ['net-a', 'net-b'] });
    expect(reasonOf(decidePod(both, view([known(), full])))).toBe(
      'NoFreeAddress: network full has no free address: of 3 in 10.1.0.1-10.1.0.3 and fd00::1-fd00::3 3 have pods',
    );
  });

  it('finds what was claimed for it already', () => {
    const decision = decidePod(pod('a'), view([known({ ports: [port(2, 'a')] })]));
    expect('claims' in decision && decision.claims).toMatchObject([
      { has: true, spec: { index: 2 } },
    ]);
  });

  it('gets no address that rests, but that of its own owner', () => {
    const ports = [1, 2, 3].map((at) =>
      port(at, 'gone', 'edge-net', { releasedAt: 0, owner: 'set' }),
    );
    expect(reasonOf(decidePod(pod('a'), view([known({ ports })])))).toContain('3 rest');
    const next = decidePod(pod('a', { owner: 'set' }), view([known({ ports })]));
    expect('claims' in next && next.claims).toMatchObject([{ resting: { spec: { index: 1 } } }]);
  });

  it('gets no address that rests of an owner in another namespace', () => {
    const ports = [1, 2, 3].map((at) =>
      port(at, 'gone', 'edge-net', { releasedAt: 0, owner: 'set' }),
    );
    const object = networkObject({ namespaces: ['edge', 'far'] });
    const thief = pod('a', { owner: 'set', namespace: 'far' });
    expect(decidePod(thief, view([known({ object, ports })]))).not.toHaveProperty('claims');
  });

  it('gets no address that a pod uses without having waited for it', () => {
    const foreign = new Map([[1, 'pod other/wild']]);
    expect(claimsOf(decidePod(pod('a'), view([known({ foreign })])))).toEqual([
      'net0 edge-net-2 10.1.0.2 fd00::2',
    ]);
  });

  it.each<[string, Parameters<typeof pod>[1], SomeKnown, string]>([
    [
      'taken',
      { fixed: '10.1.0.2' },
      { ports: [port(2, 'b')] },
      'pod edge/b has it, of 10.1.0.1-10.1.0.3',
    ],
    ['foreign', { fixed: '10.1.0.2' }, { foreign: new Map([[2, 'pod x/y']]) }, 'pod x/y has it'],
    [
      'said to be in use by a pod without a share',
      { fixed: '10.1.0.2' },
      { doubtful: new Map([[2, 'pod x/y']]) },
      'pod x/y has it',
    ],
    ['outside', { fixed: '10.1.0.9' }, {}, 'network edge-net gives 10.1.0.1-10.1.0.3'],
    ['unequal', { fixed: '10.1.0.2 fd00::3' }, {}, 'different offsets'],
  ])('waits for the address that it fixes while that is %s', (_, some, facts, message) => {
    const reason = reasonOf(decidePod(pod('a', some), view([known(facts)])));
    expect(reason).toMatch(/^FixedAddressNotFree/);
    expect(reason).toContain(message);
  });

  it('gets the address that it fixes and its owner has just given up, whatever a pod says', () => {
    const ports = [port(2, 'gone', 'edge-net', { releasedAt: 0, owner: 'set' })];
    const facts = known({ ports, doubtful: new Map([[2, 'pod x/y']]) });
    const fixing = pod('a', { owner: 'set', fixed: '10.1.0.2' });
    expect(claimsOf(decidePod(fixing, view([facts])))).toHaveLength(1);
  });

  it('gets the address and the MAC that it fixes', () => {
    const decision = decidePod(
      pod('a', { fixed: '10.1.0.3', mac: '02:AA:00:00:00:01' }),
      view([known()]),
    );
    expect('claims' in decision && decision.claims).toMatchObject([
      { spec: { index: 3, mac: '02:aa:00:00:00:01', addresses: ['10.1.0.3', 'fd00::3'] } },
    ]);
  });

  it('waits where its namespace may not use the network', () => {
    expect(reasonOf(decidePod(pod('a', { namespace: 'other' }), view([known()])))).toBe(
      'AddressNotAllowed: namespace other gets no address of network edge-net: spec.namespaces has edge',
    );
  });

  it('waits where its namespace has its share, and not for those of others', () => {
    const object = networkObject({ namespaces: ['edge', 'other'], perNamespace: 1 });
    const facts = { object, ports: [port(1, 'b')] };
    expect(reasonOf(decidePod(pod('a'), view([known(facts)])))).toBe(
      'NoFreeAddress: namespace edge has 1 of at most 1 addresses of network edge-net, those that rest too, and needs 1 more',
    );
    expect(
      claimsOf(decidePod(pod('a', { namespace: 'other' }), view([known(facts)]))),
    ).toHaveLength(1);
  });

  it('waits where addresses that rest are of the share of its namespace, but for those of its owner', () => {
    const object = networkObject({ perNamespace: 2 });
    const ports = [
      port(1, 'gone', 'edge-net', { releasedAt: 0, owner: 'set' }),
      port(2, 'gone-too', 'edge-net', { releasedAt: 0, owner: 'other' }),
    ];
    const look = (some: Parameters<typeof pod>[1], more: SomeKnown = {}) =>
      decidePod(pod('a', some), view([known({ object, ports, ...more })]));
    expect(reasonOf(look({}))).toContain('has 2 of at most 2 addresses');
    expect(claimsOf(look({ owner: 'set' }))).toEqual(['net0 edge-net-1 10.1.0.1 fd00::1']);
    expect(reasonOf(look({ owner: 'set', fixed: '10.1.0.3' }))).toContain('has 2 of at most 2');
    const less = networkObject({ perNamespace: 1 });
    expect(reasonOf(look({ owner: 'set' }, { object: less }))).toContain('has 2 of at most 1');
  });

  it('has what was kept for one of its interfaces counted once', () => {
    const keeper = { kind: 'StatefulSet', name: 'db', uid: 'db' } as const;
    const object = networkObject({ perNamespace: 2 });
    const ports = [port(1, 'db-0', 'edge-net', { keeper, keptSince: 0 })];
    const next = { ...pod('db-0', { keeper, interfaces: ['net-a', 'net-a'] }), uid: 'next' };
    expect(claimsOf(decidePod(next, view([known({ object, ports })])))).toHaveLength(2);
  });

  it('waits where an attachment does not take addresses', () => {
    const known2 = known({ names: ['edge/mv'] });
    const decision = decidePod(
      { ...pod('a'), texts: { multus: 'mv' } },
      view([known2], () => 'does not declare capability ips'),
    );
    expect(reasonOf(decision)).toContain('NotObeyed: attachment edge/mv does not declare');
  });

  it('waits for nothing where none of its networks is managed', () => {
    expect(decidePod(pod('a', { interfaces: ['net-z'] }), view([known()]))).toEqual({ claims: [] });
  });

  it('gets the names of its NetworkPorts', () => {
    const decision = decidePod(pod('a'), view([known()]));
    const claims: readonly Claim[] = 'claims' in decision ? decision.claims : [];
    expect(annotationsFor(pod('a').texts, claims).ports).toEqual({ net0: 'edge-net-1' });
  });
});

describe('a pod whose owner keeps addresses', () => {
  const keeper = { kind: 'StatefulSet', name: 'db', uid: 'db' } as const;
  const kept = (uid: string, some: object = {}) =>
    port(2, uid, 'edge-net', { keeper, keptSince: 0, ...some });
  const look = (name: string, ports: readonly NetworkPort[], some: object = {}) =>
    decidePod(pod(name, { keeper, ...some }), view([known({ ports })]));
  /** The pod of a StatefulSet, made anew. */
  const next = (ports: readonly NetworkPort[], some: object = {}) =>
    decidePod({ ...pod('db-0', { keeper, ...some }), uid: 'next' }, view([known({ ports })]));

  it('gets those of the pod before it, and the MAC', () => {
    expect(next([kept('db-0')])).toMatchObject({
      claims: [
        {
          resting: { metadata: { name: 'edge-net-2' } },
          spec: {
            mac: '02:00:00:00:00:01',
            addresses: ['10.1.0.2', 'fd00::2'],
            claim: { uid: 'next', keeper, before: 'db-0' },
          },
        },
      ],
    });
  });

  it('waits while Neutron makes no port for them', () => {
    const wait: Wait = { reason: 'NoFreeAddress', message: 'full', networks: ['edge-net'] };
    const refused = view(
      [known({ ports: [kept('db-0')] })],
      undefined,
      new Map([['edge-net-2', wait]]),
    );
    expect(decidePod({ ...pod('db-0', { keeper }), uid: 'next' }, refused)).toEqual({ wait });
  });

  it('gets others than those of another ordinal, and of another StatefulSet', () => {
    expect(claimsOf(look('db-1', [kept('db-0')]))).toEqual(['net0 edge-net-1 10.1.0.1 fd00::1']);
    const other = { ...keeper, uid: 'another' };
    expect(claimsOf(next([kept('db-0', { keeper: other })]))).toEqual([
      'net0 edge-net-1 10.1.0.1 fd00::1',
    ]);
  });

  it('gets that of whichever pod the Deployment had', () => {
    const of = { ...keeper, kind: 'Deployment' } as const;
    const decision = look('web-b', [kept('web-a', { keeper: of })], { keeper: of });
    expect(claimsOf(decision)).toEqual(['net0 edge-net-2 10.1.0.2 fd00::2']);
  });

  it('waits for the pod before it, naming both', () => {
    const before = port(2, 'db-0', 'edge-net', { keeper, node: 'silent' });
    expect(reasonOf(next([before]))).toBe(
      'PodBefore: pod edge/db-0 (next) gets 10.1.0.2 fd00::2 of NetworkPort edge-net-2 when pod edge/db-0 (db-0) is gone or has ended; node silent of that pod does not answer: start it, delete the Node, or taint it node.kubernetes.io/out-of-service',
    );
  });

  it('waits where its owner cannot keep them, and not in networks that nothing manages', () => {
    const problem = { keeper: { problem: 'Deployment web must have one replica' } };
    expect(reasonOf(look('web', [], problem))).toBe(
      'CannotBeKept: Deployment web must have one replica',
    );
    expect(look('web', [], { ...problem, interfaces: ['net-z'] })).toEqual({ claims: [] });
  });

  it('keeps them from all others, in a full network too', () => {
    const ports = [port(1, 'x'), kept('db-0'), port(3, 'y')];
    expect(reasonOf(decidePod(pod('a'), view([known({ ports })])))).toContain(
      '2 have pods, 1 are kept for the next pod of their owner',
    );
    expect(
      reasonOf(decidePod(pod('a', { fixed: '10.1.0.2' }), view([known({ ports })]))),
    ).toContain('pod edge/db-0 had it, and StatefulSet db keeps it');
    expect(claimsOf(next(ports))).toHaveLength(1);
  });

  it('gets those that it fixes', () => {
    expect(claimsOf(next([kept('db-0')], { fixed: '10.1.0.3' }))).toEqual([
      'net0 edge-net-3 10.1.0.3 fd00::3',
    ]);
  });
});

describe('a NetworkPort', () => {
  const isNodeSilent = (name: string) => ({ up: false, silent: true })[name];
  const step = (some: Parameters<typeof port>[3], node?: string | null, now = 0) =>
    decidePort(port(1, 'a', 'edge-net', some), {
      now,
      pod: node === undefined ? undefined : { node: node ?? undefined },
      isNodeSilent,
    });

  it('stays with its pod, and notes its node', () => {
    expect(step({}, null)).toEqual({ step: 'none' });
    expect(step({}, 'up')).toEqual({ step: 'note', node: 'up' });
    expect(step({ node: 'silent' }, 'silent')).toEqual({ step: 'none' });
  });

  it('is released when its pod is gone, and when the Node of its pod is', () => {
    expect(step({})).toEqual({ step: 'release' });
    expect(step({ node: 'up' })).toEqual({ step: 'release' });
    expect(step({ node: 'deleted' }, 'deleted')).toEqual({ step: 'release' });
    expect(step({ node: 'deleted' })).toEqual({ step: 'release' });
  });

  it('is held while the node of a pod that is gone does not answer', () => {
    expect(step({ node: 'silent' })).toEqual({ step: 'held', node: 'silent' });
  });

  it('rests, and goes', () => {
    expect(step({ releasedAt: 0 }, undefined, REST_MS - 1)).toEqual({ step: 'rest', forMs: 1 });
    const ofPool = port(1, 'a', 'edge-net', { releasedAt: 0 });
    const metadata = {
      creationTimestamp: new Date(1_000).toISOString(),
      labels: { [POOL_LABEL]: 'warm' },
    };
    const pooled = { ...ofPool, metadata: { ...ofPool.metadata, ...metadata } };
    const facts = { now: REST_MS, pod: undefined, isNodeSilent };
    const forMs = 1_000 + BULK_MS - REST_MS;
    expect(decidePort(pooled, facts)).toEqual({ step: 'rest', forMs });
    const made = { ...pooled, status: { ...pooled.status, portID: 'x' } };
    expect(decidePort(made, facts)).toEqual({ step: 'delete' });
    expect(step({ releasedAt: 0 }, undefined, REST_MS)).toEqual({ step: 'delete' });
  });
});
