import { describe, expect, it } from 'vitest';
import {
  MAX_GROUP_MEMBERS,
  MAX_SELECTORS,
  MAX_TAKEN,
  MAX_TAKEN_OF_NAMESPACE,
} from '#shared/policy/bounds.ts';
import { type PolicyPod } from '#shared/policy/group-members.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { compiledOf } from '../../cli/policies/testing.ts';
import { changesFor, type ObjectChange, type Present } from './changes.ts';
import { askedOf, compiledAt, type AskedPolicies } from './desired.ts';
import { createLiveGroups } from './live-groups.ts';
import type { Gateway } from './enforcing-cnfs.ts';

const PLACE = { namespace: 'edge', purpose: 'cnf-1' };
const NOBODY: Present = { groups: [], enforcements: [] };

const pod = (name: string, labels: Record<string, string>, addresses: string[]): PolicyPod => ({
  namespace: 'apps',
  name,
  uid: name,
  labels,
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses,
  ports: [],
  isHostNetwork: false,
  isFinished: false,
});
const policy = (name: string, from = 'client'): Policy => ({
  kind: 'NetworkPolicy',
  networks: [],
  namespace: 'apps',
  name,
  uid: name,
  generation: 1,
  spec: {
    podSelector: { matchLabels: { role: 'server' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { role: from } } }] }],
  },
});
const server = pod('server', { role: 'server' }, ['10.0.0.1']);
const client = pod('client', { role: 'client' }, ['10.0.0.2']);
const GATEWAY: Gateway = {
  ...PLACE,
  hasCluster: true,
  networks: [],
  hasNetworkPolicies: false,
  isUnread: false,
};
const asked = (policies: Policy[], pods = [server, client], gateway = GATEWAY): AskedPolicies => {
  const compiled = compiledAt(gateway, policies);
  const groups = createLiveGroups();
  groups.follow(
    new Map([...compiled.values()].flatMap((one) => ('groups' in one ? [...one.groups] : []))),
  );
  for (const each of pods) groups.put(each.uid, each);
  return askedOf(compiled, groups);
};
const NOTHING_ASKED = asked([]);

const manyAddresses = Array.from(
  { length: MAX_GROUP_MEMBERS + 1 },
  (_, at) => `10.1.${at >> 8}.${at & 255}`,
);

/** What is there when these changes have been made. */
const after = (before: Present, changes: ReturnType<typeof changesFor>): Present => ({
  groups: made(before.groups, [
    ...changes.steps.flatMap(({ groups }) => groups),
    ...changes.groupsGone,
  ]),
  enforcements: made(before.enforcements, [
    ...changes.steps.flatMap(({ enforcement }) => (enforcement ? [enforcement] : [])),
    ...changes.enforcementsGone,
  ]),
});
const made = <T extends AddressGroup | PolicyEnforcement>(
  before: readonly T[],
  changes: readonly ObjectChange<T>[],
): T[] => {
  const objects = new Map(before.map((one) => [one.metadata.name, one]));
  for (const [desired, present] of changes) {
    if (present) objects.delete(present.metadata.name);
    if (desired)
      objects.set(desired.metadata.name, {
        ...desired.fields,
        metadata: { uid: desired.metadata.name, ...present?.metadata, ...desired.metadata },
        // The API server makes more of it, which is not read here.
      } as unknown as T);
  }
  return [...objects.values()];
};
const brought = (wanted: AskedPolicies, before = NOBODY): Present =>
  after(before, changesFor(PLACE, wanted, before));
const membersIn = ({ groups }: Present): string[][] =>
  groups.map(({ spec }) => spec.members).sort((a, b) => a.join().localeCompare(b.join()));

it('policies with more lines than agents take isolate their pods, and those of another namespace are carried', () => {
  const blocks = Array.from({ length: 1_000 }, (_, at) => ({
    ipBlock: { cidr: `10.${at >> 8}.${at & 255}.0/24`, except: [] },
  }));
  const greedy = Array.from({ length: 40 }, (_, at): Policy => {
    const made = policy(`greedy-${at}`);
    return { ...made, namespace: 'greedy', spec: { ...made.spec, ingress: [{ from: blocks }] } };
  });
  const { enforcements } = asked([...greedy, policy('web')]);
  expect(enforcements.get('web')?.refused).toBeUndefined();
  const lines = [...enforcements.values()].reduce((sum, { lines: { length } }) => sum + length, 0);
  expect(lines).toBe(MAX_TAKEN_OF_NAMESPACE + 1);
  expect(enforcements.get('greedy-39')).toMatchObject({
    isolates: ['ingress'],
    lines: [],
    refused: { reason: 'TooLarge', message: expect.stringContaining('30000 of a namespace') },
  });
});

it('compiles no block of a policy for which no agent has room, and none a second time', () => {
  let read = 0;
  const block = {
    except: [],
    get cidr(): string {
      read += 1;
      return '10.0.0.0/8';
    },
  };
  const policies = Array.from({ length: 90 }, (_, at): Policy => {
    const made = policy(`greedy-${at}`);
    const from = Array.from({ length: 1_000 }, () => ({ ipBlock: block }));
    return { ...made, namespace: `tenant-${at % 3}`, spec: { ...made.spec, ingress: [{ from }] } };
  });
  const compiled = compiledAt(GATEWAY, policies);
  expect([compiled.size, read]).toEqual([90, MAX_TAKEN]);
  expect(compiledAt(GATEWAY, policies)).toEqual(compiled);
  expect(read).toBe(MAX_TAKEN);
});

describe('a group with more addresses than are carried', () => {
  const crowd = pod('crowd', { role: 'client' }, manyAddresses);
  const anywhere = (name: string, generation = 1): Policy => ({
    ...policy(name),
    generation,
    spec: {
      podSelector: { matchLabels: { role: 'server' } },
      ingress: [
        { from: [{ namespaceSelector: {}, podSelector: { matchLabels: { role: 'client' } } }] },
      ],
    },
  });

  it('has its policy isolate its pods alone, one that is new and one that has changed', () => {
    const before = brought(asked([policy('web')]));
    const changed = { ...policy('web'), generation: 2 };
    const present = brought(asked([changed, policy('new')], [server, crowd]), before);
    const refused = {
      reason: 'TooLarge',
      message:
        'a selector of the policy selects 5001 addresses, and 5000 are carried: it isolates its pods, and lets nothing pass',
    };
    const pods = before.enforcements[0]?.spec.pods;
    expect(present.enforcements.map(({ spec }) => spec)).toMatchObject([
      { pods, isolates: ['ingress'], lines: [], refused: { ...refused, generation: 2 } },
      { pods, isolates: ['ingress'], lines: [], refused: { ...refused, generation: 1 } },
    ]);
    const settled = brought(asked([changed, policy('new')], [server, crowd]), present);
    expect(membersIn(settled)).toEqual([['10.0.0.1']]);
    expect(brought(asked([policy('web')]), settled).enforcements).toEqual(before.enforcements);
  });

  it("has of each namespace no more than an equal share: one tenant's pods cannot take the place of another's", () => {
    const theirs = { ...crowd, namespace: 'theirs' };
    const wanted = asked([anywhere('web')], [server, client, theirs]);
    const web = wanted.enforcements.get('web');
    expect([web?.refused, web?.lines.length]).toEqual([undefined, 1]);
    const members = wanted.groups.get(web?.lines[0]?.group ?? '');
    expect(members).toHaveLength(MAX_GROUP_MEMBERS);
    expect(members).toContain('10.0.0.2');
    expect(wanted.crowded.get('web')).toMatch(/selects 5002 addresses, and 5000 are carried/);
    expect(asked([anywhere('web')]).crowded.size).toBe(0);
  });
});

describe('a namespace with more selectors than are carried', () => {
  const withPeers = (name: string, from: number, peers: number, app = 'server'): Policy => ({
    ...policy(name),
    spec: {
      podSelector: { matchLabels: { role: app } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: Array.from({ length: peers }, (_, at) => ({
        from: [{ podSelector: { matchLabels: { role: `r${from + at}` } } }],
      })),
    },
  });
  const enforced = (policies: Policy[]) => {
    const { enforcements } = asked(policies);
    return (uid: string) => enforcements.get(uid);
  };

  it('has the policies that came first; a later one isolates its pods alone, and says why', () => {
    const theirs = { ...withPeers('theirs', 5_000, 400), namespace: 'shop' };
    const of = enforced([
      withPeers('first', 0, MAX_SELECTORS - 1),
      withPeers('more', 1_000, 1),
      withPeers('same', 0, 10),
      theirs,
    ]);
    expect(of('first')?.refused).toBeUndefined();
    expect(of('more')).toMatchObject({
      pods: of('first')?.pods,
      isolates: ['ingress', 'egress'],
      lines: [],
      refused: {
        reason: 'TooLarge',
        message:
          'the policies of namespace apps have 501 selectors with this one, and 500 are carried: it isolates its pods, and lets nothing pass',
      },
    });
    expect([of('same')?.refused, of('theirs')?.refused]).toEqual([undefined, undefined]);
  });

  it('has all of its pods isolated where even the selector of a policy is one too many', () => {
    const all = compiledOf({ namespace: 'apps', spec: { podSelector: {} } }).enforcement.pods;
    const of = enforced([
      withPeers('first', 0, MAX_SELECTORS - 1),
      withPeers('more', 1_000, 1, 'another'),
      withPeers('alike', 0, 10),
    ]);
    expect(of('alike')?.refused).toBeUndefined();
    expect(of('more')).toMatchObject({ pods: all, isolates: ['ingress', 'egress'], lines: [] });
    expect(of('more')?.refused?.message).toContain('it isolates all pods of the namespace');
  });

  it('costs others nothing: of 9,000 selectors no more than those are followed', () => {
    const policies = Array.from({ length: 10 }, (_, at) => withPeers(`p-${at}`, at * 900, 900));
    const compiled = compiledAt(GATEWAY, policies);
    const groups = new Set(
      [...compiled.values()].flatMap((one) => ('groups' in one ? [...one.groups.keys()] : [])),
    );
    expect(groups.size).toBeLessThanOrEqual(MAX_SELECTORS + 1);
    expect(compiled.size).toBe(10);
  });
});

describe('what is to be written', () => {
  it('is a group for each selector, and the policy', () => {
    const present = brought(asked([policy('web')]));
    expect(membersIn(present)).toEqual([['10.0.0.1'], ['10.0.0.2']]);
    expect(present.enforcements.map(({ spec }) => spec.policy.name)).toEqual(['web']);
  });

  it('is the group alone when a pod comes', () => {
    const before = brought(asked([policy('web')]));
    const more = pod('more', { role: 'client' }, ['10.0.0.3']);
    const present = brought(asked([policy('web')], [server, client, more]), before);
    expect(membersIn(present)).toEqual([['10.0.0.1'], ['10.0.0.2', '10.0.0.3']]);
    expect(present.enforcements[0]?.spec).toEqual(before.enforcements[0]?.spec);
  });

  it('is the same object when the policy changes', () => {
    const before = brought(asked([policy('web')]));
    const present = brought(asked([policy('web', 'nobody')]), before);
    expect(present.enforcements).toHaveLength(1);
    expect(present.enforcements[0]?.metadata.uid).toBe(before.enforcements[0]?.metadata.uid);
    expect(present.enforcements[0]?.spec).not.toEqual(before.enforcements[0]?.spec);
  });

  it('keeps the groups of a policy that goes, until it is gone', () => {
    const before = brought(asked([policy('web')]));
    const ending = changesFor(PLACE, NOTHING_ASKED, before);
    expect(ending.enforcementsGone).toHaveLength(1);
    expect(ending.groupsGone).toEqual([]);
    const held = changesFor(PLACE, NOTHING_ASKED, {
      ...before,
      enforcements: before.enforcements.map((one) => ({
        ...one,
        metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      })),
    });
    expect(held).toMatchObject({ enforcementsGone: [], groupsGone: [] });
    expect(
      changesFor(PLACE, NOTHING_ASKED, { ...before, enforcements: [] }).groupsGone,
    ).toHaveLength(2);
  });

  it('leaves a policy of which too many pods are selected as it last could be carried', () => {
    const before = brought(asked([policy('web')]));
    const crowd = pod('crowd', { role: 'server' }, manyAddresses);
    const large = asked([policy('web')], [client, crowd]);
    const refused = {
      generation: 1,
      reason: 'TooLarge',
      message: 'a selector of the policy selects 5001 addresses, and 5000 are carried',
    };
    const present = brought(large, before);
    expect(present.enforcements.map(({ spec }) => spec)).toEqual(
      before.enforcements.map(({ spec }) => ({ ...spec, refused })),
    );
    expect(membersIn(present)).toEqual(membersIn(before));
    const never = brought(large);
    expect(never.enforcements).toMatchObject([{ spec: { refused, isolates: [], lines: [] } }]);
    expect(brought(asked([policy('web')]), present)).toEqual(before);
  });

  it('has no object for a group without addresses, which the policy lists, and then one for good', () => {
    const present = brought(asked([policy('web')], [server]));
    expect(membersIn(present)).toEqual([['10.0.0.1']]);
    const [one] = present.enforcements;
    expect(one?.spec.empty).toEqual([one?.spec.lines[0]?.group]);
    const came = brought(asked([policy('web')]), present);
    expect(membersIn(came)).toEqual([['10.0.0.1'], ['10.0.0.2']]);
    expect(came.enforcements).toEqual(present.enforcements);
    const left = brought(asked([policy('web')], [server]), came);
    expect(membersIn(left)).toEqual([[], ['10.0.0.1']]);
    expect(left.enforcements).toEqual(present.enforcements);
  });

  it('is a group again that another writer has removed, although it has no members', () => {
    const there = brought(asked([policy('web')]));
    const removed = {
      ...there,
      groups: there.groups.filter(({ spec }) => spec.members[0] !== '10.0.0.2'),
    };
    const present = brought(asked([policy('web')], [server]), removed);
    expect(membersIn(present)).toEqual([[], ['10.0.0.1']]);
    expect(present.enforcements).toEqual(there.enforcements);
  });

  it('is policy by policy, each behind its own groups, and namespaces take turns', () => {
    const theirs = (name: string): Policy => ({ ...policy(name), namespace: 'shop' });
    const pods = [server, client, { ...server, uid: 's', namespace: 'shop' }];
    const many = Array.from({ length: 9 }, (_, at) => policy(`many-${at}`, `r${at}`));
    const { steps } = changesFor(PLACE, asked([...many, theirs('web')], pods), NOBODY);
    const names = steps.map(({ enforcement }) => enforcement?.[0]?.metadata.name.split('.')[1]);
    expect(names.slice(0, 3)).toEqual(['many-0', 'web', 'many-1']);
    // Its own pods; no pod has the roles.
    expect(steps.map(({ groups }) => groups.length)).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('names two policies of long names, or of one name made anew, apart', () => {
    const long = 'x'.repeat(240);
    const names = (of: Policy): string[] =>
      brought(asked([of])).enforcements.map(({ metadata }) => metadata.name);
    const [one = ''] = names(policy(`${long}-a`));
    expect(one.length).toBeLessThanOrEqual(253);
    expect(names(policy(`${long}-b`))).not.toEqual([one]);
    expect(names({ ...policy(`${long}-a`), uid: 'anew' })).not.toEqual([one]);
  });
});
