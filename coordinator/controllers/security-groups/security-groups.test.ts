/**
 * Scenarios → Neutron in memory, and what its groups let pass: what is wanted, the way to it,
 * quotas, and what others have made.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Policy } from '#shared/policy/network-policy.ts';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { NeutronError } from '../../neutron/errors.ts';
import { applySteps } from './apply.ts';
import { createMembers } from './members.ts';
import { stepsFor, type NeutronStep } from './plan.ts';
import { readPresent } from './present.ts';
import { followed } from './testing/followed.ts';
import {
  createMemoryNeutron,
  type MemoryNeutron,
  type MemoryPacket,
} from './testing/memory-neutron.ts';
import { wantedOf, type WantedResult } from './wanted.ts';

const CLUSTER = '0123abcd';
const NAMES = ['a', 'b', 'c'];
const addressOf = (name: string): string => `10.0.0.${NAMES.indexOf(name) + 1}`;

type Labels = Record<string, string>;
const podsWith = (labels: Readonly<Record<string, Labels>>): PolicyPod[] =>
  NAMES.map((name) => ({
    namespace: 'x',
    name,
    uid: `uid-${name}`,
    labels: labels[name] ?? {},
    creationTimestamp: '2026-01-01T00:00:00Z',
    addresses: [addressOf(name)],
    ports: [{ name: 'web', protocol: 'TCP' as const, port: 80 }],
    isHostNetwork: false,
    isFinished: false,
  }));

const policy = (name: string, spec: object): Policy => ({
  kind: 'NetworkPolicy',
  networks: [],
  namespace: 'x',
  name,
  uid: `policy-${name}`,
  generation: 1,
  spec: networkPolicySpecSchema.parse(spec),
});

type Scenario = {
  policies: readonly Policy[];
  labels?: Readonly<Record<string, Labels>>;
  /** Pods of another tenant, without ports of ours. */
  others?: readonly PolicyPod[];
  /** Labels, by namespace. */
  namespaces?: Readonly<Record<string, Labels>>;
};

const memory = (): MemoryNeutron =>
  createMemoryNeutron(
    NAMES.map((name) => ({
      id: `port-${name}`,
      name: `sdewan/${CLUSTER}/${name}`,
      addresses: [addressOf(name)],
    })),
  );

const { signal } = new AbortController();

const planFor = async (
  neutron: MemoryNeutron,
  { policies, labels = {}, others = [], namespaces = {} }: Scenario,
  isQuotaAsked = true,
): Promise<{ steps: NeutronStep[]; result: WantedResult; apply: () => Promise<void> }> => {
  const present = await readPresent(neutron, CLUSTER, signal);
  const pods = podsWith(labels);
  const ports = pods.map(({ uid, name, addresses }) => ({
    id: `port-${name}`,
    pod: uid,
    addresses,
  }));
  const result = wantedOf({
    cluster: CLUSTER,
    policies,
    members: createMembers({
      ...followed({ policies, pods: [...pods, ...others], labels: namespaces }),
      ports,
    }),
    ports: ports.map(({ id }) => id),
    passedOn: new Set(),
    nodeAddresses: ['192.0.2.1'],
    present,
    quotas: isQuotaAsked ? await neutron.quotas() : undefined,
  });
  const steps = stepsFor(result.wanted, present);
  return { steps, result, apply: () => applySteps(steps, { neutron, present, signal }) };
};

const bring = async (neutron: MemoryNeutron, scenario: Scenario): Promise<WantedResult> => {
  const { result, apply } = await planFor(neutron, scenario);
  await apply();
  expect((await planFor(neutron, scenario)).steps).toEqual([]);
  return result;
};

const packetsOf = (): MemoryPacket[] =>
  NAMES.flatMap((from) =>
    NAMES.filter((to) => to !== from).flatMap((to) =>
      [80, 81].map((port) => ({
        from: `port-${from}`,
        to: `port-${to}`,
        source: addressOf(from),
        target: addressOf(to),
        protocol: 'tcp' as const,
        port,
      })),
    ),
  );
const ALL = packetsOf();
const passing = (neutron: MemoryNeutron): boolean[] => ALL.map((packet) => neutron.passes(packet));

const fromLabel = (app: string, more: object = {}): object => ({
  podSelector: {},
  policyTypes: ['Ingress'],
  ingress: [{ from: [{ podSelector: { matchLabels: { app } } }], ...more }],
});

it('opens everything that no policy is about, and nothing of a pool', async () => {
  const neutron = memory();
  neutron.state.ports.set('port-pool', {
    ...(await neutron.ports())[0]!,
    id: 'port-pool',
    name: `sdewan/${CLUSTER}/pool`,
  });
  await bring(neutron, { policies: [] });
  expect(passing(neutron).every(Boolean)).toBe(true);
  expect(neutron.state.ports.get('port-pool')?.security_groups).toEqual([]);
});

it('makes one PUT for a label that changes, and nothing else', async () => {
  const neutron = memory();
  const policies = [policy('p', fromLabel('web'))];
  await bring(neutron, { policies, labels: { a: { app: 'web' } } });
  neutron.calls.length = 0;
  const { apply } = await planFor(
    neutron,
    { policies, labels: { a: { app: 'web' }, b: { app: 'web' } } },
    false,
  );
  neutron.calls.length = 0;
  await apply();
  expect(neutron.calls).toEqual(['PUT port port-b']);
});

it('writes nothing where all is as it should be', async () => {
  const neutron = memory();
  const scenario = { policies: [policy('p', fromLabel('web'))] };
  await bring(neutron, scenario);
  neutron.calls.length = 0;
  await bring(neutron, scenario);
  expect(neutron.calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
});

describe('what others have made', () => {
  it('stays on our ports, and in the project', async () => {
    const neutron = memory();
    const theirs = await neutron.createGroup({ name: 'theirs', description: '' });
    const other = await neutron.createGroup({ name: 'sdewan/ffffffff/base/IN', description: '' });
    const [port] = await neutron.ports();
    await neutron.setPortGroups(port!, [theirs.id]);
    const before = structuredClone([
      neutron.state.groups.get(theirs.id),
      neutron.state.groups.get(other.id),
    ]);
    await bring(neutron, { policies: [policy('p', fromLabel('web'))] });
    await bring(neutron, { policies: [] });
    expect([neutron.state.groups.get(theirs.id), neutron.state.groups.get(other.id)]).toEqual(
      before,
    );
    expect(neutron.state.ports.get(port!.id)?.security_groups).toContain(theirs.id);
  });

  it('is put right in our groups: a rule more, a rule less, a group taken from a port', async () => {
    const neutron = memory();
    const scenario = { policies: [policy('p', fromLabel('web'))], labels: { a: { app: 'web' } } };
    await bring(neutron, scenario);
    const before = passing(neutron);
    const group = [...neutron.state.groups.values()].find(
      ({ name }) => name.endsWith('/IN') && name.includes('policy'),
    )!;
    await neutron.createRules([
      { security_group_id: group.id, direction: 'ingress', ethertype: 'IPv4' },
    ]);
    await neutron.deleteRule(group.security_group_rules[0]!.id);
    const [port] = await neutron.ports();
    await neutron.setPortGroups(port!, []);
    await bring(neutron, scenario);
    expect(passing(neutron)).toEqual(before);
  });
});

it('finds groups and rules that were made twice, and leaves one', async () => {
  const neutron = memory();
  const scenario = { policies: [policy('p', fromLabel('web'))], labels: { a: { app: 'web' } } };
  await bring(neutron, scenario);
  const before = passing(neutron);
  const size = neutron.state.groups.size;
  for (const { name } of Array.from(neutron.state.groups.values())) {
    const twin = await neutron.createGroup({ name, description: '' });
    const [port] = (await neutron.ports()).slice(-1);
    await neutron.setPortGroups(port!, [...port!.security_groups, twin.id]);
  }
  const group = [...neutron.state.groups.values()].find(
    (one) => one.security_group_rules.length === 2,
  )!;
  // What Neutron does when ten ask at a time.
  group.security_group_rules.push({ ...group.security_group_rules[0]!, id: 'twin' });
  await bring(neutron, scenario);
  expect(neutron.state.groups.size).toBe(size);
  expect(neutron.state.groups.get(group.id)?.security_group_rules).toHaveLength(2);
  expect(passing(neutron)).toEqual(before);
});

describe('a quota', () => {
  const policies = ['a', 'b', 'c', 'd'].map((name) => policy(name, fromLabel(name)));

  it('lets in what fits, says both numbers of the rest, and takes it up when it has grown', async () => {
    const neutron = memory();
    neutron.limits = { groups: 8, rules: 100 };
    const { refused } = await bring(neutron, { policies });
    expect([...refused]).toEqual([
      [
        'policy-c',
        {
          reason: 'QuotaExceeded',
          message: 'needs 2 security groups more, and of the quota of 8 are 7 used',
        },
      ],
      [
        'policy-d',
        {
          reason: 'QuotaExceeded',
          message: 'needs 2 security groups more, and of the quota of 8 are 7 used',
        },
      ],
    ]);
    expect(neutron.state.groups.size).toBe(7);
    neutron.limits = { groups: 11, rules: 100 };
    expect((await bring(neutron, { policies })).refused.size).toBe(0);
  });

  it('changes nothing when it is too small for what every port needs', async () => {
    const neutron = memory();
    neutron.limits = { groups: 2, rules: 100 };
    const { refused } = await bring(neutron, { policies });
    expect(refused.size).toBe(4);
    expect(neutron.state.groups.size).toBe(0);
  });

  it('counts rules, and a policy that does not fit any more stays as it was', async () => {
    const neutron = memory();
    const [first = policy('p', {})] = policies;
    await bring(neutron, { policies: [first] });
    const before = passing(neutron);
    neutron.limits = { groups: 20, rules: 10 };
    const ports = Array.from({ length: 9 }, (_, at) => ({ port: 80 + at }));
    const { refused } = await bring(neutron, {
      policies: [policy('a', fromLabel('web', { ports }))],
    });
    expect(refused.get('policy-a')?.message).toMatch(/^needs \d+ security groups? .*rules more/s);
    expect(passing(neutron)).toEqual(before);
  });
});

describe('what another tenant does', () => {
  const theirs = (app: string, more: Partial<PolicyPod>): PolicyPod => ({
    ...podsWith({})[0]!,
    namespace: 'theirs',
    name: 'crowd',
    uid: 'uid-crowd',
    labels: { app },
    addresses: ['10.9.0.1'],
    ...more,
  });
  const crowd = theirs('web', {
    addresses: Array.from({ length: 5_001 }, (_, at) => `10.1.${at >> 8}.${at & 255}`),
  });
  const quiet = theirs('web', { namespace: 'quiet', uid: 'uid-quiet', addresses: ['10.8.0.1'] });
  const numbers = theirs('web', {
    ports: Array.from({ length: 600 }, (_, at) => ({
      name: 'web',
      protocol: 'TCP',
      port: 1_000 + at,
    })),
  });
  const labels = { a: { app: 'server' }, b: { app: 'web' } };
  const anywhere = (app: string): object => ({
    namespaceSelector: {},
    podSelector: { matchLabels: { app } },
  });
  const ingress = policy('in', {
    podSelector: { matchLabels: { app: 'server' } },
    ingress: [{ from: [anywhere('web')] }],
  });
  const egressTo = (...to: object[]): Policy =>
    policy('out', {
      podSelector: { matchLabels: { app: 'server' } },
      policyTypes: ['Egress'],
      egress: [{ to, ports: [{ port: 'web' }] }],
    });
  const passes = (neutron: MemoryNeutron, from: string, to: string, port = 80): boolean =>
    neutron.passes(
      ALL.find(
        (one) => one.from === `port-${from}` && one.to === `port-${to}` && one.port === port,
      )!,
    );

  it('leaves a selector of several namespaces the pods of the others', async () => {
    const neutron = memory();
    const { crowded, refused } = await bring(neutron, {
      policies: [ingress],
      labels,
      others: [crowd, quiet],
    });
    expect([...refused]).toEqual([]);
    const groups = [...neutron.state.addressGroups.values()].map(({ addresses }) => addresses);
    const addresses = groups.find(({ length }) => length > 1);
    expect(addresses).toHaveLength(5_000);
    expect(addresses).toContain('10.8.0.1/32');
    expect([passes(neutron, 'b', 'a'), passes(neutron, 'c', 'a')]).toEqual([true, false]);
    expect(crowded.get('policy-in')).toMatch(/selects 5002 addresses, and 5000 are carried/);
  });

  it("leaves a port's name the numbers of the others, and counts for no peer that is not theirs", async () => {
    const neutron = memory();
    const out = egressTo(anywhere('web'));
    const { refused } = await bring(neutron, { policies: [out], labels, others: [numbers] });
    expect([...refused]).toEqual([]);
    const seen = [
      passes(neutron, 'a', 'b'),
      passes(neutron, 'a', 'b', 81),
      passes(neutron, 'a', 'c'),
    ];
    expect(seen).toEqual([true, false, false]);
    const own = egressTo({ podSelector: { matchLabels: { app: 'web' } } });
    const alone = await bring(neutron, { policies: [own], labels, others: [numbers] });
    const { rules } = [...alone.wanted.groups.values()].find(({ name }) =>
      name.includes('policy'),
    )!;
    expect(rules).toHaveLength(2);
  });

  it('isolates the pods of a policy that becomes too large by it, one that is new and one that was narrower', async () => {
    const many = egressTo(
      ...Array.from({ length: 40 }, (_, at) => ({
        namespaceSelector: { matchLabels: { [`is-${at}`]: 'x' } },
      })),
      anywhere('web'),
    );
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`is-${at}`, 'x']));
    const scenario = { policies: [many], labels, others: [numbers], namespaces: { theirs: wide } };
    const fresh = memory();
    const changed = memory();
    await bring(changed, { ...scenario, policies: [egressTo(anywhere('web'))] });
    for (const neutron of [fresh, changed]) {
      const { enforced, refused } = await bring(neutron, scenario);
      expect(refused.get('policy-out')).toMatchObject({ reason: 'TooLarge' });
      expect(enforced.get('policy-out')).toEqual(['port-a']);
      expect([passes(neutron, 'a', 'b'), passes(neutron, 'a', 'c')]).toEqual([false, false]);
      expect(passes(neutron, 'b', 'a')).toBe(true);
      await bring(neutron, { policies: [many], labels });
      expect(passes(neutron, 'a', 'b')).toBe(true);
    }
  });

  it('isolates the pods of a policy for which it leaves no quota, and those that a policy that stays comes to select', async () => {
    const neutron = memory();
    neutron.limits = { groups: 4, rules: 100 };
    const { refused } = await bring(neutron, { policies: [ingress], labels });
    expect(refused.get('policy-in')).toMatchObject({ reason: 'QuotaExceeded' });
    expect([passes(neutron, 'b', 'a'), passes(neutron, 'a', 'b')]).toEqual([false, true]);
    neutron.limits = { groups: 5, rules: 100 };
    await bring(neutron, { policies: [ingress], labels });
    const next = { ...ingress, spec: policy('in', fromLabel('other')).spec };
    await bring(neutron, { policies: [next], labels });
    expect([passes(neutron, 'b', 'a'), passes(neutron, 'b', 'c')]).toEqual([true, false]);
  });
});

describe('blocks', () => {
  const blocks = (...ipBlocks: object[]): Policy =>
    policy('p', {
      podSelector: {},
      policyTypes: ['Egress'],
      egress: [
        {
          to: ipBlocks.map((ipBlock) => ({ ipBlock })),
          ports: [80, 81, 82].map((port) => ({ port })),
        },
      ],
    });
  const rulesIn = async (...ipBlocks: object[]) => {
    const neutron = memory();
    await bring(neutron, { policies: [blocks(...ipBlocks)] });
    const group = [...neutron.state.groups.values()].find(({ name }) => name.includes('policy'));
    return { neutron, rules: group?.security_group_rules ?? [] };
  };

  it('are one rule for each port and family without their exceptions, however many pieces they come to', async () => {
    const { neutron, rules } = await rulesIn(
      { cidr: '10.0.0.0/8', except: ['10.0.0.2/32', '10.0.0.9/32'] },
      { cidr: 'fd00::/8', except: ['fd00::1/128'] },
    );
    expect(rules.map((rule) => rule.ethertype).toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => 'IPv4'),
      ...Array.from({ length: 3 }, () => 'IPv6'),
    ]);
    const to = (target: string): boolean =>
      neutron.passes(ALL.find(({ to: port, port: of }) => port === target && of === 80)!);
    expect([to('port-a'), to('port-b'), to('port-c')]).toEqual([true, false, true]);
  });

  it('need no address group as one piece', async () => {
    const { neutron, rules } = await rulesIn(
      { cidr: '10.0.0.0/8' },
      { cidr: '10.1.0.0/16', except: ['10.1.2.0/24'] },
    );
    expect(rules.map((rule) => rule.remote_ip_prefix)).toEqual(Array(3).fill('10.0.0.0/8'));
    expect([...neutron.state.addressGroups.values()].map(({ name }) => name)).toEqual([
      `sdewan/${CLUSTER}/nodes`,
    ]);
  });

  it('come as another address group when they change, and the old one goes', async () => {
    const { neutron } = await rulesIn({ cidr: '10.0.0.0/8', except: ['10.0.0.2/32'] });
    await bring(neutron, { policies: [blocks({ cidr: '10.0.0.0/8', except: ['10.0.0.3/32'] })] });
    expect(neutron.state.addressGroups.size).toBe(2);
  });
});

it('refuses what comes to over 1,000 rules with both numbers, and leaves its last form', async () => {
  const neutron = memory();
  await bring(neutron, { policies: [policy('p', fromLabel('web'))] });
  const before = passing(neutron);
  const except = Array.from({ length: 90 }, (_, at) => `10.${at * 2}.3.5/32`);
  const { refused } = await bring(neutron, {
    policies: [
      policy('p', {
        podSelector: {},
        ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except } }] }],
      }),
    ],
  });
  expect(refused.get('policy-p')).toEqual({
    reason: 'TooLarge',
    message: expect.stringMatching(/comes to 1\d{3} rules .* 1000 are carried/),
  });
  expect(passing(neutron)).toEqual(before);
});

it('says nothing of one that is too large, but selects none of our ports', async () => {
  const except = Array.from({ length: 90 }, (_, at) => `10.${at * 2}.3.5/32`);
  const { refused } = await bring(memory(), {
    policies: [
      policy('p', {
        podSelector: { matchLabels: { app: 'of-others' } },
        ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8', except } }] }],
      }),
    ],
  });
  expect([...refused]).toEqual([]);
});

describe('on the way from one scenario to another', () => {
  const label = fc.constantFrom('a', 'b', 'c');
  const selector = label.map((name) => ({ matchLabels: { app: name } }));
  const peers = fc.array(
    fc.oneof(
      selector.map((podSelector) => ({ podSelector })),
      fc
        .tuple(
          fc.constantFrom('10.0.0.1/32', '10.0.0.0/30', '10.0.0.0/29'),
          fc.constantFrom([], ['10.0.0.2/32']),
        )
        .map(([cidr, except]) => ({
          ipBlock: { cidr, ...(!cidr.endsWith('/32') && { except }) },
        })),
    ),
    { maxLength: 2 },
  );
  const byNumber = fc.constantFrom<object[][]>([], [{ port: 80 }], [{ port: 81 }]);
  const rulesWith = (ports: fc.Arbitrary<object[]>) =>
    fc.array(fc.tuple(peers, ports), { maxLength: 2 });
  type Rules = [object[], object[]][];
  const specOf = (
    podSelector: object,
    into: Rules | undefined,
    out: Rules | undefined,
  ): object => ({
    podSelector,
    policyTypes: [...(into ? ['Ingress'] : []), ...(out ? ['Egress'] : [])],
    ...(into && { ingress: into.map(([from, ports]) => ({ from, ports })) }),
    ...(out && { egress: out.map(([to, ports]) => ({ to, ports })) }),
  });

  const rules = fc.option(rulesWith(fc.oneof(byNumber, fc.constant<object[]>([{ port: 'web' }]))), {
    nil: undefined,
  });
  const spec = fc
    .tuple(fc.oneof(fc.constant({}), selector), rules, rules)
    .map(([podSelector, into, out]) => specOf(podSelector, into, out));
  const scenario = fc
    .tuple(fc.array(spec, { maxLength: 3 }), fc.tuple(label, label, label))
    .map(([specs, apps]): Scenario => ({
      policies: specs.map((of, at) => policy(String(at), of)),
      labels: Object.fromEntries(NAMES.map((name, at) => [name, { app: apps[at] ?? '' }])),
    }));

  const walk = async (first: Scenario, second: Scenario) => {
    const neutron = memory();
    await bring(neutron, first);
    const before = passing(neutron);
    const between: boolean[][] = [];
    const { apply } = await planFor(neutron, second);
    neutron.onWrite = () => between.push(passing(neutron));
    await apply();
    neutron.onWrite = () => undefined;
    await bring(neutron, second);
    return { before, between, after: passing(neutron) };
  };

  it('passes nothing that is denied before and after', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, scenario, async (first, second) => {
        const { before, between, after } = await walk(first, second);
        const leaks = ALL.filter(
          (_, at) => !before[at] && !after[at] && between.some((now) => now[at]),
        );
        expect(leaks).toEqual([]);
      }),
      { numRuns: caseCount(60) },
    );
  });

  it('goes on with what passes before and after, where the rules of one direction change', async () => {
    const change = fc
      .tuple(fc.boolean(), rulesWith(byNumber), rulesWith(byNumber))
      .map(([isIngress, ...both]) =>
        both.map((of) =>
          isIngress ? specOf({}, of as Rules, undefined) : specOf({}, undefined, of as Rules),
        ),
      );
    const labels = Object.fromEntries(NAMES.map((name) => [name, { app: name }]));
    await fc.assert(
      fc.asyncProperty(change, async ([first = {}, second = {}]) => {
        const { before, between, after } = await walk(
          { policies: [policy('p', first)], labels },
          { policies: [policy('p', second)], labels },
        );
        const cut = ALL.filter(
          (_, at) => before[at] && after[at] && between.some((now) => !now[at]),
        );
        expect(cut).toEqual([]);
      }),
      { numRuns: caseCount(40) },
    );
  });
});

it('finds an answer that was lost when Neutron is read again', async () => {
  const neutron = memory();
  const scenario = { policies: [policy('p', fromLabel('web'))], labels: { a: { app: 'web' } } };
  for (let lost = 0; lost < 12; lost += 1) {
    const { apply } = await planFor(neutron, scenario);
    let writes = 0;
    neutron.onWrite = () => {
      writes += 1;
      if (writes > lost)
        throw new NeutronError('a call', 'no answer', { status: 0, type: 'Timeout' });
    };
    await apply().catch(() => undefined);
    neutron.onWrite = () => undefined;
  }
  const once = memory();
  await bring(once, scenario);
  await bring(neutron, scenario);
  expect(passing(neutron)).toEqual(passing(once));
  expect(neutron.state.groups.size).toBe(once.state.groups.size);
});
