import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, passes } from '#shared/policy/decide.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import { membersOf, type PolicyPod } from '#shared/policy/groups.ts';
import {
  networkPolicySpecSchema,
  PROTOCOLS,
  type Policy,
  type Protocol,
} from '#shared/policy/network-policy.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { shopPod } from '../policies/testing.ts';
import type { PoliciesNow, WorkloadPod } from '../policies/world.ts';
import {
  policiesDiffOf,
  policiesDiffText,
  policiesDiffSchema,
  type PoliciesDiff,
} from './policies.ts';

const pod = (name: string, address: string, more: Partial<WorkloadPod> = {}): WorkloadPod => ({
  ...shopPod(name, address),
  workload: `Deployment shop/${name}`,
  ...more,
});
const policy = (name: string, spec: object, more: Partial<Policy> = {}): Policy => ({
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name,
  uid: name,
  generation: 1,
  networks: [],
  spec: networkPolicySpecSchema.parse(spec),
  ...more,
});
const only = (app: string) => ({ podSelector: { matchLabels: { app } } });
const WEB = pod('web', '10.1.1.1');
const DB = pod('db', '10.1.2.1', { ports: [{ name: 'sql', protocol: 'TCP', port: 5_432 }] });
const JOB = pod('job', '10.1.3.1');
const now = (some: Partial<PoliciesNow> = {}): PoliciesNow => ({
  cnfs: [
    {
      gateway: {
        namespace: 'edge',
        purpose: 'cnf-1',
        hasCluster: true,
        networks: [],
        hasNetworkPolicies: false,
        isUnread: false,
      },
      pods: new Set(['cnf-1-a']),
    },
  ],
  policies: [],
  pods: [WEB, DB, JOB, pod('cnf-1-a', '10.1.9.9')],
  labelsOf: () => ({}),
  ...some,
});
const told = (diff: PoliciesDiff): string[] =>
  diff.connections.map(({ change, from, to, ports }) =>
    `${change} ${from} → ${to}: ${ports.join(', ')}`.replaceAll('Deployment shop/', ''),
  );
const fromWeb = policy('db', {
  ...only('db'),
  ingress: [{ from: [only('web')], ports: [{ port: 'sql' }] }],
});

describe('what a policy in a file would change', () => {
  it('is who cannot talk any more, by which ports; a CNF itself is never cut off', () => {
    const diff = policiesDiffOf(now(), [fromWeb]);
    policiesDiffSchema.parse(JSON.parse(JSON.stringify(diff)));
    expect(told(diff)).toEqual([
      'Cut job → db: all',
      'Cut web → db: TCP 1-5431, TCP 5433-65535, UDP, SCTP',
      'Cut addresses of no pod → db: all',
    ]);
    expect(policiesDiffText(diff)).toMatch(
      /^NetworkPolicy shop\/db: new; enforced at edge\/cnf-1\n\nCHANGE +FROM +TO +PORTS +AT\ncut +Deployment shop\/job +Deployment shop\/db +all +edge\/cnf-1\n/,
    );
  });

  it('is who can talk again', () => {
    const before = now({ policies: [fromWeb] });
    const wider = policy('db', { ...only('db'), ingress: [{ from: [only('web'), only('job')] }] });
    const diff = policiesDiffOf(before, [wider]);
    expect(told(diff)).toEqual([
      'Opened job → db: all',
      'Opened web → db: TCP 1-5431, TCP 5433-65535, UDP, SCTP',
    ]);
    expect(diff.changes).toMatchObject([{ name: 'db', change: 'Changed' }]);
  });

  it('is nothing where another policy says the same, or the files say what is there', () => {
    const same = policiesDiffOf(now({ policies: [fromWeb] }), [
      policy('db', {
        ...only('db'),
        policyTypes: ['Ingress'],
        ingress: [{ from: [only('web')], ports: [{ protocol: 'TCP', port: 'sql' }] }],
      }),
    ]);
    expect([same.changes, same.connections]).toEqual([[], []]);
    const again = policiesDiffOf(now({ policies: [fromWeb] }), [{ ...fromWeb, name: 'again' }]);
    expect(again.changes).toMatchObject([{ change: 'New' }]);
    expect(policiesDiffText(again)).toContain('nothing is cut or opened');
  });

  it('is by blocks, where no pod is as well', () => {
    const egress = policy('web', {
      ...only('web'),
      policyTypes: ['Egress'],
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.2.0/24'] } }] }],
    });
    expect(told(policiesDiffOf(now(), [egress]))).toEqual([
      'Cut web → db: all',
      'Cut web → addresses of no pod in 10.1.2.0/24: all',
      'Cut web → addresses of no pod: all',
    ]);
  });

  it('says where no CNF would enforce it, and where one cannot', () => {
    const nowhere = policiesDiffOf(now({ cnfs: [] }), [fromWeb]);
    expect(policiesDiffText(nowhere)).toBe(
      'NetworkPolicy shop/db: new; no CNF would enforce it, so none cuts or opens anything\n',
    );
    const ports = Array.from({ length: 1_001 }, (_, port) => ({ port: port + 1 }));
    const large = policy('db', { ...only('db'), ingress: [{ ports }] });
    const diff = policiesDiffOf(now({ policies: [fromWeb] }), [large]);
    expect([diff.connections, diff.changes[0]?.notCarried]).toEqual([
      [],
      [{ at: 'edge/cnf-1', reason: 'TooLarge', message: expect.stringContaining('1001 rules') }],
    ]);
  });

  it('is in second networks between those of different subnets only', () => {
    const second = (name: string, address: string) =>
      pod(name, '10.9.9.9', {
        addresses: [],
        secondAddresses: [{ network: 'net1', addresses: [address] }],
      });
    const [cnf] = now().cnfs;
    if (!cnf) throw new Error('no CNF');
    const networks = [{ name: 'net1', subnets: ['10.2.1.0/24', '10.2.2.0/24'] }];
    const world = now({
      cnfs: [{ ...cnf, gateway: { ...cnf.gateway, hasCluster: false, networks } }],
      pods: [second('a', '10.2.1.1'), second('b', '10.2.1.2'), second('c', '10.2.2.1')],
    });
    const deny = policy('a', { ...only('a') }, { kind: 'MultiNetworkPolicy', networks: ['net1'] });
    expect(told(policiesDiffOf(world, [deny]))).toEqual([
      'Cut c (net1) → a (net1): all',
      'Cut addresses of no pod → a (net1): all',
    ]);
  });

  it('is bounded, and says how many more there are', () => {
    const many = Array.from({ length: 120 }, (_, at) => pod(`p${at}`, `10.2.0.${at + 1}`));
    const deny = policy('db', only('db'));
    const diff = policiesDiffOf(now({ pods: [DB, ...many] }), [deny]);
    expect([diff.connections.length, diff.moreConnections]).toEqual([100, 21]);
    expect(policiesDiffText(diff)).toContain('and 21 more');
  });
});

const APPS = ['a', 'b', 'c', 'd'] as const;
const appArbitrary = fc.constantFrom(...APPS);
const selectorArbitrary = fc.oneof(
  fc.constant({}),
  appArbitrary.map((app) => ({ matchLabels: { app } })),
);
const portsArbitrary = fc.array(
  fc.oneof(
    fc.record({
      protocol: fc.constantFrom(...PROTOCOLS),
      port: fc.constantFrom(1, 80, 81, 65_535),
    }),
    fc.record({ protocol: fc.constantFrom(...PROTOCOLS) }),
    fc.constant({ port: 79, endPort: 81 }),
    fc.constant({ port: 'web' }),
  ),
  { maxLength: 2 },
);
const peersArbitrary = fc.array(
  fc.oneof(
    selectorArbitrary.map((podSelector) => ({ podSelector })),
    fc.constant({ ipBlock: { cidr: '10.0.0.0/29', except: ['10.0.0.2/32'] } }),
    fc.constant({ ipBlock: { cidr: '0.0.0.0/0' } }),
  ),
  { maxLength: 2 },
);
const specArbitrary = fc.record({
  podSelector: selectorArbitrary,
  policyTypes: fc.constantFrom(['Ingress'], ['Egress'], ['Ingress', 'Egress']),
  ingress: fc.array(fc.record({ from: peersArbitrary, ports: portsArbitrary }), { maxLength: 2 }),
  egress: fc.array(fc.record({ to: peersArbitrary, ports: portsArbitrary }), { maxLength: 2 }),
});
const podsArbitrary = fc.array(fc.record({ app: appArbitrary, port: fc.constantFrom(80, 82) }), {
  minLength: 2,
  maxLength: 6,
});

it('is what the evaluator says of each packet between each two pods, before and after', () => {
  const ports = [1, 2, 79, 80, 81, 82, 83, 65_535];
  fc.assert(
    fc.property(
      podsArbitrary,
      fc.array(specArbitrary, { minLength: 1, maxLength: 3 }),
      specArbitrary,
      (given, specs, changed) => {
        const pods = given.map(({ app, port }, at) =>
          pod(`${app}${at}`, `10.0.0.${at + 1}`, {
            labels: { app },
            ports: [{ name: 'web', protocol: 'TCP', port }],
          }),
        );
        const before = specs.map((spec, at) => policy(`p${at}`, spec));
        const after = [policy('p0', changed), ...before.slice(1)];
        const diff = policiesDiffOf(now({ pods, policies: before }), [policy('p0', changed)]);
        const listed = new Map(
          diff.connections.map(({ change, from, to, ports: texts }) => [
            `${change} ${from} ${to}`,
            texts,
          ]),
        );
        const [was, is] = [evaluatorOf(before, pods), evaluatorOf(after, pods)];
        const wrong: unknown[] = [];
        const packets = PROTOCOLS.flatMap((protocol) => ports.map((port) => ({ protocol, port })));
        for (const [from, to] of pairsOf(pods)) {
          const told = (change: string, packet: Packet): boolean =>
            isIn(listed.get(`${change} ${from.workload} ${to.workload}`) ?? [], packet);
          for (const packet of packets) {
            const [then, soon] = [was(from, to, packet), is(from, to, packet)];
            const wanted = [then && !soon, soon && !then];
            if (told('Cut', packet) !== wanted[0] || told('Opened', packet) !== wanted[1])
              wrong.push([from.name, to.name, packet, wanted]);
          }
        }
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: caseCount(40) },
  );
});

const pairsOf = <T>(all: readonly T[]): [T, T][] =>
  all.flatMap((one) => all.filter((other) => other !== one).map((other): [T, T] => [one, other]));

type Packet = { protocol: Protocol; port: number };

const evaluatorOf = (policies: readonly Policy[], pods: readonly PolicyPod[]) => {
  const compiled = policies.map((one) => compilePolicy(one));
  const entries = compiled.flatMap((one) =>
    'enforcement' in one ? [{ of: '', enforcement: one.enforcement }] : [],
  );
  const all = new Map(
    compiled
      .flatMap((one) => ('groups' in one ? [...one.groups] : []))
      .map(([id, group]) => [id, new Set(membersOf(group, pods, () => ({})))]),
  );
  const members = (id: string) => all.get(id) ?? new Set<string>();
  return (from: PolicyPod, to: PolicyPod, packet: Packet): boolean => {
    const [source = '', target = ''] = [from.addresses[0], to.addresses[0]];
    return decide({ ...packet, from: source, to: target }, { entries, members }).every(passes);
  };
};

const isIn = (texts: readonly string[], { protocol, port }: Packet): boolean =>
  texts.some((text) => {
    if (text === 'all' || text === protocol) return true;
    const [name, range = ''] = text.split(' ');
    const [first, last = first] = range.split('-').map(Number);
    return name === protocol && port >= (first ?? 0) && port <= (last ?? 0);
  });
