import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimsOf, type Cnfs, type ExposeOptions } from './wanted-rules.ts';
import { MAX_PORTS, type Service } from './service.ts';

const service = (name: string, changes: Partial<Service> = {}): Service => ({
  namespace: 'shop',
  name,
  uid: `uid-${name}`,
  createdAt: '2026-01-01T00:00:00Z',
  expose: 'edge/cnf-1',
  zone: 'wan',
  type: 'ClusterIP',
  clusterIps: ['10.96.0.1'],
  ports: [{ port: 80, protocol: 'TCP' }],
  ...changes,
});
const OPTIONS: ExposeOptions = {
  allTo: undefined,
  zone: undefined,
  exceptNamespaces: ['kube-system'],
  reservedPorts: ['22/tcp', '500/udp'],
};
const ACCEPTED = new Set(['shop', 'office', 'kube-system']);

/** What is known of CNFs: where there are some, and whom they accept. */
type Known = { namespaces: string[]; accepted: ReadonlySet<string> | undefined };

const outcome = (
  services: Service[],
  options: Partial<ExposeOptions> = {},
  known: Partial<Known> = {},
) => {
  const { namespaces, accepted } = { namespaces: ['edge', 'shop'], accepted: ACCEPTED, ...known };
  const cnfs: Cnfs = {
    acceptedBy: (namespace) => (namespaces.includes(namespace) ? accepted : undefined),
  };
  const claims = claimsOf(services, { ...OPTIONS, ...options }, cnfs);
  return {
    rules: [...claims.wanted.values()].map(({ namespace, purpose, service: of, spec }) =>
      [`${of.name}:`, namespace, purpose, ...Object.values(spec)].join(' '),
    ),
    notes: [...claims.notes].flatMap(([uid, notes]) =>
      notes.map(({ reason, message }) => `${uid} ${reason}: ${message}`),
    ),
    undecided: [...claims.undecided],
  };
};

/** One line for each rule: the Service's name, namespace and purpose of the CNF, and its spec. */
describe('claimsOf', () => {
  it('makes a rule for each port and each address family', () => {
    const dual = service('web', {
      clusterIps: ['10.96.0.1', 'fd00::1'],
      ports: [
        { port: 80, protocol: 'TCP' },
        { port: 53, protocol: 'UDP' },
      ],
    });
    expect(outcome([dual]).rules).toEqual([
      'web: edge cnf-1 wan tcp 80 10.96.0.1 80 ipv4',
      'web: edge cnf-1 wan tcp 80 fd00::1 80 ipv6',
      'web: edge cnf-1 wan udp 53 10.96.0.1 53 ipv4',
      'web: edge cnf-1 wan udp 53 fd00::1 53 ipv6',
    ]);
  });

  it.each<[string, Partial<Service>, RegExp]>([
    ['is external', { type: 'ExternalName', clusterIps: [] }, /ExternalName has no cluster IP/],
    ['is headless', { clusterIps: ['None'] }, /headless Service has no cluster IP/],
    ['has no ports', { ports: [] }, /the Service has no ports/],
    ['has no address yet', { clusterIps: [''] }, /has no cluster IP yet/],
    ['has no zone', { zone: undefined }, /no zone is given/],
    ['has a zone that cannot be', { zone: 'a b' }, /src: must be the name of a FirewallZone/],
    ['has an SCTP port', { ports: [{ port: 1, protocol: 'SCTP' }] }, /ports need tcp, udp/],
  ])('says why a Service is not exposed that %s', (_what, changes, words) => {
    const { rules, notes } = outcome([service('web', changes)]);
    expect(rules).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(words)]);
  });

  it.each<[string, Partial<Service>, Partial<ExposeOptions>, number]>([
    ['says nothing', { expose: undefined }, {}, 0],
    ['says none', { expose: 'none' }, { allTo: 'edge/cnf-1' }, 0],
    ['says nothing where all are', { expose: undefined }, { allTo: 'edge/cnf-1' }, 1],
    [
      'is in a namespace apart',
      { expose: undefined, namespace: 'kube-system' },
      { allTo: 'edge/cnf-1' },
      0,
    ],
    ['is in a namespace apart, but asks', { namespace: 'kube-system' }, { allTo: 'edge/cnf-1' }, 1],
    [
      'is that of the API server',
      { expose: undefined, namespace: 'default', name: 'kubernetes' },
      { allTo: 'edge/cnf-1' },
      0,
    ],
    ['leaves the zone to the default', { zone: undefined }, { zone: 'lan' }, 1],
  ])('handle a Service that %s', (_what, changes, options, count) => {
    expect(outcome([service('web', changes)], options).rules).toHaveLength(count);
  });

  it.each<[string, Partial<Service>]>([
    ['the Service names', { expose: 'cnf-1' }],
    ['all Services are exposed to', { expose: undefined }],
  ])(
    'take a purpose alone that %s for the CNF of its own namespace, and no other',
    (_what, changes) => {
      const web = service('web', changes);
      const options = { allTo: 'cnf-1' };
      expect(outcome([web], options).rules).toEqual([
        'web: shop cnf-1 wan tcp 80 10.96.0.1 80 ipv4',
      ]);
      expect(outcome([web], options, { namespaces: ['edge'] })).toEqual({
        rules: [],
        notes: [
          'uid-web NoCnf: no pod in namespace shop has purpose cnf-1; write namespace/purpose for a CNF of another namespace; the rules that exist stay',
        ],
        undecided: ['uid-web'],
      });
    },
  );

  const NOT_ACCEPTED =
    'uid-web NotExposed: CNF edge/cnf-1 does not accept Services of namespace shop: its pod template needs annotation sdewan.akraino.org/accepts-services-from: shop';
  const GONE = 'uid-web NoCnf: no pod of CNF edge/cnf-1 exists; the rules that exist stay';
  it.each<[string, Partial<Service>, Partial<Known>, string | undefined]>([
    ['that the CNF does not accept', {}, { accepted: new Set(['other']) }, NOT_ACCEPTED],
    ['of another namespace, while no pod can tell', {}, { accepted: undefined }, GONE],
    ["of the CNF's own namespace", { namespace: 'edge' }, { accepted: new Set() }, undefined],
    ['that the operator exposes', { expose: undefined }, { accepted: new Set() }, undefined],
  ])('asks the CNF for its consent to a Service %s', (_what, changes, known, why) => {
    const { rules, notes, undecided } = outcome(
      [service('web', changes)],
      { allTo: 'edge/cnf-1' },
      known,
    );
    expect(rules).toHaveLength(why === undefined ? 1 : 0);
    expect(notes).toEqual(why === undefined ? [] : [why]);
    expect(undecided).toEqual(why === GONE ? ['uid-web'] : []);
  });

  it('give a Service with more ports than one rule each is worth none', () => {
    const ports = Array.from({ length: MAX_PORTS + 1 }, (_, at) => ({
      port: 10_000 + at,
      protocol: 'TCP',
    }));
    expect(outcome([service('web', { ports })])).toMatchObject({
      rules: [],
      notes: [
        'uid-web NotExposed: the Service has more than 256 ports; make several Services of it',
      ],
    });
    expect(outcome([service('web', { ports: ports.slice(1) })]).rules).toHaveLength(MAX_PORTS);
  });

  it('give a Service none of the reserved ports, and all its others', () => {
    const ports = [22, 500, 80].flatMap((port) =>
      ['TCP', 'UDP'].map((protocol) => ({ port, protocol })),
    );
    const { rules, notes } = outcome([service('web', { ports })]);
    expect(rules.map((rule) => rule.split(' ').slice(4, 6).join(' '))).toEqual([
      'udp 22',
      'tcp 500',
      'tcp 80',
      'udp 80',
    ]);
    expect(notes).toEqual([
      'uid-web NotExposed: port 22 tcp: is reserved on CNFs; give the Service another port',
      'uid-web NotExposed: port 500 udp: is reserved on CNFs; give the Service another port',
    ]);
  });

  it('give the older of two the port, and the other an Event', () => {
    const old = service('b', { createdAt: '2025-01-01T00:00:00Z' });
    const { rules, notes } = outcome([service('a'), old]);
    expect(rules).toEqual(['b: edge cnf-1 wan tcp 80 10.96.0.1 80 ipv4']);
    expect(notes).toEqual([
      expect.stringMatching(/^uid-a PortTaken: port 80 tcp .* shop\/b, which is older/),
    ]);
  });

  it.each<[string, Partial<Service>]>([
    ['zone', { zone: 'lan' }],
    ['protocol', { ports: [{ port: 80, protocol: 'UDP' }] }],
    ['port', { ports: [{ port: 81, protocol: 'TCP' }] }],
    ['CNF', { expose: 'edge/cnf-2' }],
    ['family', { clusterIps: ['fd00::1'] }],
    ['zone, of a namesake in another namespace,', { zone: 'lan', name: 'a', namespace: 'office' }],
  ])('take another %s for no conflict', (_what, changes) => {
    expect(outcome([service('a'), service('b', changes)]).rules).toHaveLength(2);
  });

  it('makes the rules of a Service that has not changed once, however often it looks', () => {
    const web = service('web');
    const cnfs: Cnfs = { acceptedBy: () => ACCEPTED };
    const look = () => claimsOf([web, service('b', { zone: 'lan' })], OPTIONS, cnfs).wanted;
    const [first, second] = [look(), look()];
    expect([...first.keys()]).toEqual([...second.keys()]);
    const shared = [...first].filter(([key, rule]) => second.get(key) === rule);
    expect(shared.map(([, rule]) => rule.service.name)).toEqual(['web']);
  });

  it('gives the same result in any order, and grants no claim twice', () => {
    const services = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
        createdAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
        zone: fc.constantFrom('wan', 'lan'),
        port: fc.constantFrom(80, 81),
      }),
      { selector: ({ name }) => name },
    );
    fc.assert(
      fc.property(services, (some) => {
        const all = some.map(({ port, name, ...rest }) =>
          service(name, { ...rest, ports: [{ port, protocol: 'TCP' }] }),
        );
        const forwards = outcome(all);
        expect(outcome(all.toReversed())).toEqual(forwards);
        const claims = forwards.rules.map((rule) => rule.replace(/^\w+: /, ''));
        expect(new Set(claims).size).toBe(claims.length);
        expect(forwards.rules.length + forwards.notes.length).toBe(all.length);
      }),
    );
  });
});
