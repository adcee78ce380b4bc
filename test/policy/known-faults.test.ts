/** Faults that others' enforcement of NetworkPolicies has had, each as a test: by the table that the agent loads, or by what the coordinator does. */
import { describe, expect, it } from 'vitest';
import { groupId, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import { wholeFile } from '#shared/policy/table.ts';
import { createLiveGroups } from '../../coordinator/policy/live-groups.ts';
import { scopeOf } from '../../coordinator/policy/places.ts';
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

describe('what happens', () => {
  const group: Group = { pods: { matchLabels: { app: 'a' } }, namespaces: { name: 'x' } };
  const id = groupId(group);
  const running = (labels: Record<string, string>): PolicyPod => ({
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

  it('labels of running pods change groups', () => {
    const live = createLiveGroups();
    live.follow(new Map([[id, group]]));
    live.put('a', running({}));
    expect(live.members(id)).toEqual([]);
    live.put('a', running({ app: 'a' }));
    expect(live.members(id)).toEqual(['10.1.0.1']);
    live.put('a', running({ app: 'b' }));
    expect(live.members(id)).toEqual([]);
  });

  it('an event of a pod that no policy is about touches nothing', () => {
    const live = createLiveGroups();
    live.follow(new Map([[id, group]]));
    expect(live.put('a', running({ app: 'b' })).size).toBe(0);
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
    live.put('a', { ...running({ app: 'a' }), secondAddresses });
    expect(live.members(groupId(both))).toEqual(['10.1.0.1', '10.7.0.5']);
  });
});
