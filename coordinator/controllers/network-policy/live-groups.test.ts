import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupId, isSelected, type Group, type PolicyPod } from '#shared/policy/group-members.ts';
import { membersOf } from '#shared/policy/testing.ts';
import type { LabelSelector } from '#shared/kube/selector.ts';
import { createLiveGroups } from './live-groups.ts';

const NAMESPACES = ['x', 'y'];
const NET = [{ name: 'net1', subnets: ['10.1.0.0/29'] }];

const labels = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('', 'one'), {
  noNullPrototype: true,
});
const selector: fc.Arbitrary<LabelSelector> = fc.oneof(
  fc.record({ matchLabels: labels }),
  fc.constant<LabelSelector>({
    matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['one'] }],
  }),
);
const group: fc.Arbitrary<Group> = fc.record(
  {
    pods: selector,
    namespaces: fc.oneof(
      fc.constantFrom(...NAMESPACES).map((name) => ({ name })),
      selector.map((of) => ({ labels: of })),
    ),
    port: fc.constant({ name: 'http', protocol: 'TCP' as const }),
    scope: fc.constant(NET),
  },
  { requiredKeys: ['pods', 'namespaces'] },
);
/** Few addresses, so that pods often have the same one. */
const address = fc.nat(9).map((number) => `10.1.0.${number}`);
const pod = (uid: string): fc.Arbitrary<PolicyPod> =>
  fc
    .record({
      // No pod moves.
      namespace: fc.constant(uid < 'c' ? 'x' : 'y'),
      name: fc.constant(uid),
      uid: fc.constant(uid),
      labels,
      creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'),
      addresses: fc.array(address, { maxLength: 2 }),
      secondAddresses: fc.array(
        fc.record({ network: fc.constantFrom('net1', 'net2'), addresses: fc.array(address) }),
        { maxLength: 1 },
      ),
      ports: fc.constantFrom([], [{ name: 'http', protocol: 'TCP' as const, port: 80 }]),
      isHostNetwork: fc.nat(5).map((of) => of === 0),
      isFinished: fc.nat(5).map((of) => of === 0),
    })
    .chain((made) =>
      fc
        .constantFrom({}, {}, { isUnscheduled: true as const }, { isTerminating: true as const })
        .map((more) => ({ ...made, ...more })),
    );
const running = (name: string, of: Record<string, string>): PolicyPod => ({
  namespace: 'x',
  name,
  uid: name,
  labels: of,
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: ['10.0.0.1'],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
});
const uid = fc.constantFrom('a', 'b', 'c', 'd');
type Step =
  | { pod: PolicyPod }
  | { gone: string }
  | { namespace: string; labels: Record<string, string> }
  | { groups: Group[] };
const step: fc.Arbitrary<Step> = fc.oneof(
  uid.chain((of) => pod(of).map((made) => ({ pod: made }))),
  uid.map((gone) => ({ gone })),
  fc.record({ namespace: fc.constantFrom(...NAMESPACES), labels }),
  fc.array(group, { maxLength: 4 }).map((groups) => ({ groups })),
);

describe('groups that follow what happens', () => {
  it('have after each event the members that a look at everything gives, and tell of each that changed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const live = createLiveGroups();
        const pods = new Map<string, PolicyPod>();
        const of = new Map<string, Record<string, string>>();
        let groups = new Map<string, Group>();
        const labelsOf = (namespace: string) => of.get(namespace) ?? {};
        const seen = () =>
          new Map(
            [...groups].map(([id, one]) => [id, membersOf(one, [...pods.values()], labelsOf)]),
          );
        for (const now of steps) {
          const before = seen();
          let touched: ReadonlySet<string> = new Set(groups.keys());
          if ('pod' in now) {
            pods.set(now.pod.uid, now.pod);
            touched = live.put(now.pod.uid, now.pod);
          } else if ('gone' in now) {
            pods.delete(now.gone);
            touched = live.put(now.gone, undefined);
          } else if ('namespace' in now) {
            of.set(now.namespace, now.labels);
            touched = live.relabel(now.namespace, now.labels);
          } else {
            groups = new Map(now.groups.map((one) => [groupId(one), one]));
            live.follow(groups);
            continue;
          }
          for (const [id, members] of seen()) {
            expect(live.members(id)).toEqual(members);
            const isTold = touched.has(id) || members.join() === before.get(id)?.join();
            expect(isTold).toBe(true);
            const selected = [...pods.values()].filter((one) =>
              isSelected(
                groups.get(id) ?? { pods: {}, namespaces: { name: '' } },
                one,
                labelsOf(one.namespace),
              ),
            );
            expect(
              live
                .selected(id)
                .map((one) => one.uid)
                .sort(),
            ).toEqual(selected.map((one) => one.uid).sort());
          }
        }
      }),
    );
  });

  it('doubt an address that another pod outside of them has as well, until no node runs that', () => {
    const live = createLiveGroups();
    const mine: Group = { pods: { matchLabels: { app: 'one' } }, namespaces: { name: 'x' } };
    const id = groupId(mine);
    live.follow(new Map([[id, mine]]));
    const older = running('older', { app: 'one' });
    live.put('older', older);
    expect(live.members(id)).toEqual(['10.0.0.1']);
    const twin: PolicyPod = { ...older, uid: 'twin', labels: {} };
    expect(live.put('twin', twin)).toEqual(new Set([id]));
    expect([live.members(id), live.ownerOf('10.0.0.1')]).toEqual([['?10.0.0.1'], undefined]);
    live.put('twin', { ...twin, isUnscheduled: true });
    expect([live.members(id), live.ownerOf('10.0.0.1')]).toEqual([['10.0.0.1'], older]);
  });

  it('are not touched by a pod that none of them selects', () => {
    const live = createLiveGroups();
    const mine: Group = { pods: { matchLabels: { app: 'one' } }, namespaces: { name: 'x' } };
    live.follow(new Map([[groupId(mine), mine]]));
    const stranger = running('stranger', { app: 'other' });
    expect(live.put('stranger', stranger)).toEqual(new Set());
    expect(live.put('stranger', { ...stranger, labels: { app: 'one' } })).toEqual(
      new Set([groupId(mine)]),
    );
    expect(live.put('stranger', stranger)).toEqual(new Set([groupId(mine)]));
    expect(live.put('stranger', undefined)).toEqual(new Set());
  });

  it('are touched by a pod that they go on selecting only when something but its labels changes', () => {
    const live = createLiveGroups();
    const all: Group = { pods: {}, namespaces: { labels: {} } };
    live.follow(new Map([[groupId(all), all]]));
    const inside = running('inside', { app: 'one' });
    const touched = new Set([groupId(all)]);
    expect(live.put('inside', inside)).toEqual(touched);
    expect(live.put('inside', { ...inside, labels: { app: 'other' } })).toEqual(new Set());
    expect(live.relabel('x', { team: 'a' })).toEqual(new Set());
    expect(live.put('inside', { ...inside, addresses: ['10.0.0.2'] })).toEqual(touched);
    expect(live.members(groupId(all))).toEqual(['10.0.0.2']);
    expect(live.put('inside', { ...inside, isFinished: true })).toEqual(touched);
  });
});
