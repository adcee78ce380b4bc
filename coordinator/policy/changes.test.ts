import { describe, expect, it } from 'vitest';
import { MAX_GROUP_MEMBERS } from '#shared/policy/bounds.ts';
import { type PolicyPod } from '#shared/policy/groups.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import type { AddressGroup } from '#shared/resources/address-group.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';
import { changesFor, type ObjectChange, type Present } from './changes.ts';
import { askedOf, compiledAt, NOTHING_ASKED, type AskedPolicies } from './desired.ts';
import { createLiveGroups } from './live-groups.ts';
import type { Gateway } from './places.ts';

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
  return askedOf(compiled, groups.members);
};

/** What is there when these changes have been made. */
const after = (before: Present, changes: ReturnType<typeof changesFor>): Present => ({
  groups: made(before.groups, [...changes.groups, ...changes.groupsGone]),
  enforcements: made(before.enforcements, [...changes.enforcements, ...changes.enforcementsGone]),
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
        // What the API server makes of it has more, which nobody here reads.
      } as unknown as T);
  }
  return [...objects.values()];
};
const brought = (wanted: AskedPolicies, before = NOBODY): Present =>
  after(before, changesFor(PLACE, wanted, before));
const membersIn = ({ groups }: Present): string[][] =>
  groups.map(({ spec }) => spec.members).sort((a, b) => a.join().localeCompare(b.join()));

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

  it('leaves a policy that has become too large as it last could be carried', () => {
    const before = brought(asked([policy('web')]));
    const addresses = Array.from(
      { length: MAX_GROUP_MEMBERS + 1 },
      (_, at) => `10.1.${at >> 8}.${at & 255}`,
    );
    const crowd = pod('crowd', { role: 'client' }, addresses);
    const large = asked([policy('web')], [server, crowd]);
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
