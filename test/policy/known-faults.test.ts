/** Faults that others' enforcement of NetworkPolicies has had, each as a test: by the table that the agent loads, or by what the coordinator does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { groupId, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import { networkPolicySpecSchema, type Policy } from '#shared/policy/network-policy.ts';
import { wholeFile } from '#shared/policy/table.ts';
import { createLiveGroups } from '../../coordinator/policy/live-groups.ts';
import { scopeOf } from '../../coordinator/policy/places.ts';
import {
  isAbsent,
  isOvertakenInNeutron,
  NeutronError,
} from '../../coordinator/provider/neutron/errors.ts';
import { applySteps } from '../../coordinator/security-groups/apply.ts';
import { createMembers } from '../../coordinator/security-groups/members.ts';
import { stepsFor } from '../../coordinator/security-groups/plan.ts';
import { readPresent } from '../../coordinator/security-groups/present.ts';
import { followed } from '../../coordinator/security-groups/testing/followed.ts';
import {
  createMemoryNeutron,
  type MemoryNeutron,
} from '../../coordinator/security-groups/testing/memory-neutron.ts';
import { wantedOf } from '../../coordinator/security-groups/wanted.ts';
import { isAllowed, type Packet, type PodOf, type PolicyOf, type World } from './evaluator.ts';
import { passesTable, readTable } from './nft-judge.ts';
import { tableOf } from './product.ts';

const pod = (name: string, more: Partial<PodOf> = {}): PodOf => ({
  namespace: 'x',
  name,
  labels: { app: name },
  addresses: [`10.1.0.${name.charCodeAt(0)}`],
  ports: [],
  ...more,
});
const addressOf = (name: string): string => `10.1.0.${name.charCodeAt(0)}`;
const server = pod('s', {
  ports: [
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: 'dns-tcp', protocol: 'TCP', port: 5353 },
  ],
});
const NAMESPACES = { x: { team: 'one' }, y: { team: 'two' }, z: { team: 'three' } };

/** What the table says, which must be what Kubernetes says. */
const passes = (
  spec: Omit<PolicyOf['spec'], 'podSelector'>,
  from: string,
  { pods = [server, pod('a'), pod('b')], ...packet }: Partial<Packet> & { pods?: PodOf[] } = {},
): boolean => {
  const world: World = {
    namespaces: NAMESPACES,
    pods,
    policies: [
      { namespace: 'x', name: 'p', spec: { podSelector: { matchLabels: { app: 's' } }, ...spec } },
    ],
  };
  const sent = { from, to: addressOf('s'), protocol: 'TCP', port: 80, ...packet };
  const said = passesTable(readTable(wholeFile(tableOf(world))), sent);
  expect(said).toBe(isAllowed(world, sent));
  return said;
};

describe('rules', () => {
  it('two exceptions of a block do not cancel each other', () => {
    const ipBlock = { cidr: '10.0.0.0/8', except: ['10.1.0.97/32', '10.1.0.98/32'] };
    const spec = { ingress: [{ from: [{ ipBlock }] }] };
    expect(passes(spec, addressOf('a'))).toBe(false);
    expect(passes(spec, addressOf('b'))).toBe(false);
    expect(passes(spec, addressOf('c'))).toBe(true);
  });

  it('an empty rule counts wherever it stands', () => {
    const one = { from: [{ podSelector: { matchLabels: { app: 'b' } } }] };
    expect(passes({ ingress: [one, {}] }, addressOf('a'))).toBe(true);
    expect(passes({ ingress: [{}, one] }, addressOf('a'))).toBe(true);
  });

  it('pods of several namespaces that one peer selects are all peers', () => {
    const pods = [server, pod('a', { namespace: 'y' }), pod('b', { namespace: 'z' })];
    const namespaceSelector = {
      matchExpressions: [{ key: 'team', operator: 'In', values: ['two', 'three'] }],
    };
    const spec = { ingress: [{ from: [{ podSelector: {}, namespaceSelector }] }] };
    expect(passes(spec, addressOf('a'), { pods })).toBe(true);
    expect(passes(spec, addressOf('b'), { pods })).toBe(true);
  });

  it('an empty value of a label matches that value', () => {
    const pods = [server, pod('a', { labels: { role: '' } }), pod('b')];
    const spec = { ingress: [{ from: [{ podSelector: { matchLabels: { role: '' } } }] }] };
    expect(passes(spec, addressOf('a'), { pods })).toBe(true);
    expect(passes(spec, addressOf('b'), { pods })).toBe(false);
  });

  it('endPort is the end of a range', () => {
    const spec = { ingress: [{ ports: [{ port: 80, endPort: 82 }] }] };
    expect([80, 82, 83].map((port) => passes(spec, addressOf('a'), { port }))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("a port's name counts with its protocol, and matches no port without a name", () => {
    const spec = { ingress: [{ ports: [{ port: 'dns', protocol: 'UDP' }] }] };
    expect(passes(spec, addressOf('a'), { protocol: 'UDP', port: 53 })).toBe(true);
    expect(passes(spec, addressOf('a'), { protocol: 'TCP', port: 53 })).toBe(false);
    expect(passes(spec, addressOf('a'), { protocol: 'UDP', port: 5353 })).toBe(false);
    expect(passes({ ingress: [{ ports: [{ port: 'none' }] }] }, addressOf('a'))).toBe(false);
  });

  it('a block of addresses may leave by the name of a port', () => {
    const spec = {
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ ipBlock: { cidr: '10.1.0.0/16' } }],
          ports: [{ port: 'web', protocol: 'TCP' }],
        },
      ],
    };
    const web = pod('w', { ports: [{ name: 'web', protocol: 'TCP', port: 8080 }] });
    const pods = [server, web];
    const packet = { pods, to: addressOf('w') };
    expect(passes(spec, addressOf('s'), { ...packet, port: 8080 })).toBe(true);
    expect(passes(spec, addressOf('s'), { ...packet, port: 80 })).toBe(false);
  });

  it('there are not more of them with more pods', () => {
    const chainsWith = (count: number): string =>
      tableOf({
        namespaces: NAMESPACES,
        pods: Array.from({ length: count }, (_, at) =>
          pod(`p${at}`, { addresses: [`10.2.${at >> 8}.${at & 255}`], labels: { app: 'a' } }),
        ),
        policies: [
          {
            namespace: 'x',
            name: 'p',
            spec: {
              podSelector: { matchLabels: { app: 'a' } },
              ingress: [{ from: [{ podSelector: { matchLabels: { app: 'a' } } }] }],
            },
          },
        ],
      }).chains;
    expect(chainsWith(2_000)).toBe(chainsWith(1));
  });
});

const runningPod = (labels: Record<string, string>): PolicyPod => ({
  namespace: 'x',
  name: 'a',
  uid: 'a',
  labels,
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: ['10.1.0.1'],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
});

describe('what happens', () => {
  const group: Group = { pods: { matchLabels: { app: 'a' } }, namespaces: { name: 'x' } };
  const id = groupId(group);

  it('labels of running pods change groups', () => {
    const live = createLiveGroups();
    live.follow(new Map([[id, group]]));
    live.put('a', runningPod({}));
    expect(live.members(id)).toEqual([]);
    live.put('a', runningPod({ app: 'a' }));
    expect(live.members(id)).toEqual(['10.1.0.1']);
    live.put('a', runningPod({ app: 'b' }));
    expect(live.members(id)).toEqual([]);
  });

  it('an event of a pod that no policy is about touches nothing', () => {
    const live = createLiveGroups();
    live.follow(new Map([[id, group]]));
    expect(live.put('a', runningPod({ app: 'b' })).size).toBe(0);
  });

  it('second networks count, and not the default interface alone', () => {
    const gateway = {
      namespace: 'edge',
      purpose: 'cnf-1',
      hasCluster: true,
      networks: [{ name: 'net1', subnets: ['10.7.0.0/24'] }],
      hasNetworkPolicies: true,
      isUnread: false,
    };
    const at = scopeOf({ kind: 'NetworkPolicy', networks: [] }, gateway);
    const scope = at && 'scope' in at ? at.scope : [];
    const both: Group = { ...group, scope };
    const live = createLiveGroups();
    live.follow(new Map([[groupId(both), both]]));
    const secondAddresses = [{ network: 'net1', addresses: ['10.7.0.5'] }];
    live.put('a', { ...runningPod({ app: 'a' }), secondAddresses });
    expect(live.members(groupId(both))).toEqual(['10.1.0.1', '10.7.0.5']);
  });
});

describe('what is written', () => {
  const CLUSTER = '0123abcd';
  const { signal } = new AbortController();
  const port = { id: 'port-a', pod: 'a', addresses: ['10.1.0.1'] };
  const policy = (ingress: object[]): Policy => ({
    kind: 'NetworkPolicy',
    networks: [],
    namespace: 'x',
    name: 'p',
    uid: 'p',
    generation: 1,
    spec: networkPolicySpecSchema.parse({ podSelector: {}, ingress }),
  });
  const bring = async (neutron: MemoryNeutron): Promise<void> => {
    const policies = [policy([{ ports: [{ port: 80 }] }])];
    const pods = [{ ...runningPod({ app: 'a' }), addresses: port.addresses }];
    const present = await readPresent(neutron, CLUSTER, signal);
    const members = createMembers({ ...followed({ policies, pods }), ports: [port] });
    const { wanted } = wantedOf({
      cluster: CLUSTER,
      policies,
      members,
      ports: [port.id],
      nodeAddresses: [],
      present,
      quotas: undefined,
    });
    await applySteps(stepsFor(wanted, present), { neutron, present, signal });
  };

  it('is compared with what Neutron has, not with what was written last: a rule that somebody has deleted is back', async () => {
    const neutron = createMemoryNeutron([{ ...port, name: `sdewan/${CLUSTER}/a` }]);
    await bring(neutron);
    const rules = () =>
      [...neutron.state.groups.values()].flatMap((group) => group.security_group_rules);
    const count = rules().length;
    for (const { id } of rules()) await neutron.deleteRule(id);
    expect(rules()).toHaveLength(0);
    await bring(neutron);
    expect(rules()).toHaveLength(count);
  });

  it("is never the user's policy: nobody has given the coordinator the right", () => {
    const file = join(import.meta.dirname, '../../deploy/rbac/coordinator.yaml');
    const rules = parseAllDocuments(readFileSync(file, 'utf8')).flatMap(
      (one): { resources?: string[]; verbs: string[] }[] => one.toJS().rules ?? [],
    );
    const about = rules.filter(({ resources = [] }) =>
      resources.some((name) => name.endsWith('networkpolicies') || name.startsWith('multi-')),
    );
    expect(about.length).toBeGreaterThan(0);
    for (const { verbs } of about) expect(verbs.toSorted()).toEqual(['list', 'watch']);
  });

  it('fails by type, not by text: words about another refusal change nothing', () => {
    const refusal = (status: number, type: string): NeutronError =>
      new NeutronError('a call', 'Quota exceeded 409: not found 404', { status, type });
    expect(isAbsent(refusal(500, 'HTTP 500'))).toBe(false);
    expect(isOvertakenInNeutron(refusal(500, 'HTTP 500'))).toBe(false);
    expect(isAbsent(refusal(404, 'PortNotFound'))).toBe(true);
    expect(isOvertakenInNeutron(refusal(409, 'SecurityGroupRuleExists'))).toBe(true);
  });
});
