import { describe, expect, it } from 'vitest';
import { UNORDERED_DISTANCE } from '#shared/protocol/report.ts';
import {
  steer,
  TAKEN_MS,
  TROUBLE_MS,
  type Action,
  type RollOutFacts,
  type Memory,
} from './decide.ts';
import type { FleetPod } from './pod.ts';
import { RESTART_MS } from './set-health.ts';
import { isConfirmed, samePlaces } from './distances.ts';
import { facts, fleetPod, missing } from './testing/facts.ts';

const OLD: Memory = { current: 'old' };
const STAGED: Memory = { current: 'old', staged: { set: 'new', since: 0 } };
const HANDED: Memory = { current: 'old', staged: { set: 'new', since: 0, handedOverAt: 1_000 } };
const SOAKING: Memory = {
  current: 'old',
  staged: { set: 'new', since: 0, handedOverAt: 1_000, readyAt: 2_000 },
};

const old = fleetPod('old-1');
const next = fleetPod('new-1');
const serving = fleetPod('new-1', { ready: true, gate: 'open', active: true });

/**
 * One look: what is done comes when new distances are written and agents that were in step have
 * them, which is a look of its own.
 */
const look = (pods: readonly FleetPod[], memory: Memory, changes: Partial<RollOutFacts> = {}) => {
  const known = facts(pods, changes);
  const first = steer(known, memory);
  if (samePlaces(first.distances, known.distances)) return first;
  const { distances } = first;
  const told = ({ name }: FleetPod): number => distances.get(name)?.distance ?? UNORDERED_DISTANCE;
  const following = pods.map((pod) =>
    isConfirmed(pod, known.distances) ? { ...pod, actual: told(pod) } : pod,
  );
  return steer({ ...known, distances, pods: following }, first.memory);
};
const words = (actions: readonly Action[]): string[] =>
  actions.map((one) => `${one.do} ${one.pod}`);

describe('a set that is staged', () => {
  it.each<[string, FleetPod[], string[]]>([
    ['waits for pods that are not there', [old], ['0 of 1 pods are there']],
    [
      'waits for containers',
      [old, fleetPod('new-1', { containersReady: false, notReady: 'no image' })],
      ['new-1: no image'],
    ],
    [
      'waits for a report',
      [old, fleetPod('new-1', { link: 'Unknown' })],
      ['new-1: its agent has not reported yet'],
    ],
    [
      'waits for a rule that only the old set has',
      [old, fleetPod('new-1', { missing: missing('FirewallRule deny-ssh') })],
      ['FirewallRule deny-ssh: WaitingForInterface (on new-1)'],
    ],
    [
      'waits for a rule of which no agent has spoken yet, on either set',
      [
        fleetPod('old-1', { missing: missing('FirewallRule a', 'Applying', false) }),
        fleetPod('new-1', { missing: missing('FirewallRule a', 'Applying', false) }),
      ],
      ['FirewallRule a: Applying (on new-1)'],
    ],
    [
      'waits for its own word of a rule that the old set cannot have',
      [
        fleetPod('old-1', { missing: missing('FirewallRule a') }),
        fleetPod('new-1', { missing: missing('FirewallRule a', 'Outdated', false) }),
      ],
      ['FirewallRule a: Outdated (on new-1)'],
    ],
    [
      'waits for a rule that some pod of the old set has',
      [
        fleetPod('old-1', { missing: missing('FirewallRule a') }),
        fleetPod('old-2', { active: false }),
        fleetPod('new-1', { missing: missing('FirewallRule a') }),
      ],
      ['FirewallRule a: WaitingForInterface (on new-1)'],
    ],
    [
      'names a rule that waits for another one behind that',
      [
        old,
        fleetPod('new-1', {
          missing: new Map([
            ...missing('FirewallDNAT web', 'WaitingForReference'),
            ...missing('FirewallZone wan', 'UnknownNetwork'),
          ]),
        }),
      ],
      [
        'FirewallZone wan: UnknownNetwork (on new-1)',
        'FirewallDNAT web: WaitingForReference (on new-1)',
      ],
    ],
    [
      'excuses nothing by agents that do not report',
      [
        fleetPod('old-1', { missing: missing('FirewallRule a'), link: 'Silent' }),
        fleetPod('new-1', { missing: missing('FirewallRule a') }),
      ],
      ['FirewallRule a: WaitingForInterface (on new-1)'],
    ],
  ])('%s', (_, pods, waitsFor) => {
    const decision = look(pods, STAGED);
    expect(decision.waitsFor).toEqual(waitsFor);
    expect(words(decision.actions)).toEqual([]);
    expect(decision.memory).toEqual(STAGED);
  });

  it('begins when Kubernetes says that there is a new set', () => {
    expect(look([old], OLD, { now: 7 }).memory.staged).toEqual({ set: 'new', since: 7 });
  });

  it('is handed over with every rule: labels first, then gates', () => {
    const two = [old, fleetPod('old-2', { active: false }), next, fleetPod('new-2')];
    const { actions, memory, stage } = look(two, STAGED, { now: 5, replicas: 2 });
    expect(stage).toBe('HandedOver');
    expect(words(actions)).toEqual(['activate new-1', 'open new-1', 'open new-2', 'rate new-2']);
    expect(memory.staged).toEqual({ set: 'new', since: 0, swappedAt: 5, handedOverAt: 5 });
  });

  it('is handed over without a rule that neither set can have, and names it', () => {
    const red = { missing: missing('FirewallRule a') };
    const { stage, excused } = look([fleetPod('old-1', red), fleetPod('new-1', red)], STAGED);
    expect({ stage, excused }).toEqual({ stage: 'HandedOver', excused: ['FirewallRule a'] });
  });

  it('is given up in the words of Kubernetes where that cannot make its pods', () => {
    const failure = 'pods "new-1" is forbidden: exceeded quota';
    const { memory } = look([old], STAGED, { now: 900_000, failure });
    expect(memory.failed?.why).toBe(failure);
    const late = fleetPod('new-1', { missing: missing('FirewallRule a') });
    const other = look([old, late], STAGED, { now: 900_000, failure });
    expect(other.memory.failed?.why).toContain('FirewallRule a');
  });

  it('waits while the roll-out is paused, beyond the deadline', () => {
    const { stage, waitsFor, actions } = look([old, next], STAGED, { paused: true, now: 1e9 });
    expect({ stage, waitsFor, actions }).toEqual({
      stage: 'Connected',
      waitsFor: ['spec.paused is true'],
      actions: [],
    });
  });

  it('is given up at the deadline, by the first thing that is missing', () => {
    const late = fleetPod('new-1', { missing: missing('FirewallRule deny-ssh') });
    expect(look([old, late], STAGED, { now: 899_999 })).toMatchObject({ lookAt: 900_000 });
    const { stage, memory } = look([old, late], STAGED, { now: 900_000 });
    expect(stage).toBe('Failed');
    expect(memory.failed).toEqual({
      set: 'new',
      why: 'FirewallRule deny-ssh: WaitingForInterface (on new-1)',
    });
  });

  it('is not given up before a young coordinator has heard its agents', () => {
    const unheard = fleetPod('new-1', { link: 'Unknown' });
    expect(look([old, unheard], STAGED, { now: 1e9 }).memory.failed).toBeUndefined();
  });

  it('has the traffic pod by pod when no other set has it', () => {
    const down = fleetPod('old-1', { ready: false, containersReady: false });
    const unfit = fleetPod('new-2', { missing: missing('FirewallRule a') });
    const { actions } = look([down, next, unfit], STAGED, { replicas: 2 });
    expect(words(actions)).toEqual(['activate new-1', 'open new-1']);
  });

  it('is left alone after it was given up', () => {
    const failed = { ...STAGED, failed: { set: 'new', why: 'late' } };
    expect(look([old, next], failed)).toMatchObject({ stage: 'Failed', actions: [] });
  });
});

describe('a set that is told to have the traffic', () => {
  const swapped = (at: number): Memory => ({
    current: 'old',
    staged: { set: 'new', since: 0, swappedAt: at },
  });
  const near = { distance: 0, since: 0 };
  const far = { distance: 3, since: 0 };
  const distances = new Map([
    ['new-1', near],
    ['old-1', far],
  ]);
  const pods = (newHas: number | undefined, oldHas: number | undefined): FleetPod[] => [
    fleetPod('old-1', { actual: oldHas }),
    fleetPod('new-1', { actual: newHas }),
  ];

  it('swaps distances when it has every rule, and before anything else is done', () => {
    const { stage, distances: asked } = steer(
      facts(pods(3, 0), {
        now: 5,
        distances: new Map([
          ['old-1', near],
          ['new-1', far],
        ]),
      }),
      STAGED,
    );
    expect(stage).toBe('Swapping');
    expect(asked).toEqual(
      new Map([
        ['new-1', { distance: 0, since: 5 }],
        ['old-1', { distance: 3, since: 5 }],
      ]),
    );
  });

  it.each<[string, FleetPod[], string[]]>([
    ['its own agents', pods(3, 3), ['new-1']],
    ['agents that have said nothing of it', pods(undefined, 3), ['new-1']],
    ['the agents of the old set', pods(0, 0), ['old-1']],
  ])('waits for %s', (_, some, names) => {
    const step = look(some, swapped(1_000), { now: 2_000, distances });
    expect(step).toMatchObject({ stage: 'Swapping', actions: [] });
    expect(step.waitsFor).toEqual([
      `the agent has not confirmed its distance yet on ${names.join()}`,
    ]);
  });

  it('has it when each has confirmed, or the time of the old set is over', () => {
    const confirmed = look(pods(0, 3), swapped(1_000), { now: 2_000, distances });
    expect(confirmed.stage).toBe('HandedOver');
    expect(words(confirmed.actions)).toEqual(['activate new-1', 'open new-1']);
    const late = look(pods(0, 0), swapped(1_000), { now: 21_000, distances });
    expect(late.stage).toBe('HandedOver');
    expect(look(pods(3, 0), swapped(1_000), { now: 21_000, distances }).stage).toBe('Swapping');
  });

  it('does not wait for an old pod that is lost', () => {
    const [, next = old] = pods(0, 0);
    const lost = fleetPod('old-1', { actual: undefined, unheard: true, link: 'Silent' });
    expect(look([lost, next], swapped(1_000), { now: 2_000, distances }).stage).toBe('HandedOver');
  });

  it('fails when its agents do not confirm by the deadline', () => {
    const { memory } = look(pods(3, 3), swapped(1_000), { now: 900_000, distances });
    expect(memory.failed?.why).toBe('the agent has not confirmed its distance yet on new-1');
  });

  it('goes back when it lacks a rule for longer than its agents take to change a distance', () => {
    const lacks = { ...fleetPod('new-1', { actual: 0 }), missing: missing('x') };
    const some = [fleetPod('old-1', { actual: 3 }), lacks];
    const first = look(some, swapped(1_000), { now: 2_000, distances });
    expect(first).toMatchObject({ stage: 'Swapping', actions: [] });
    const then = steer(facts(some, { now: 2_000 + TROUBLE_MS, distances }), first.memory);
    expect(then).toMatchObject({ stage: 'Connected', memory: STAGED });
    expect(then.distances.get('old-1')?.distance).toBe(0);
  });
});

describe('the label of the nearest', () => {
  const near = { distance: 0, since: 1_000 };
  const standby = { distance: 1, since: 1_000 };
  const placed = {
    distances: new Map([
      ['old-2', near],
      ['old-1', standby],
    ]),
    wanted: 'old',
  };
  const two = (one: Partial<FleetPod>, other: Partial<FleetPod>): FleetPod[] => [
    fleetPod('old-1', { actual: undefined, deletionCost: -1, ...one }),
    fleetPod('old-2', { actual: undefined, active: false, ...other }),
  ];
  const done = (pods: readonly FleetPod[], now: number): string[] =>
    words(look(pods, OLD, { ...placed, now }).actions);

  it('moves when its agent has confirmed, or has had its time: make before break', () => {
    expect(done(two({}, {}), 2_000)).toEqual([]);
    expect(done(two({}, { actual: 0 }), 2_000)).toEqual(['activate old-2']);
    expect(done(two({}, {}), 21_000)).toEqual(['activate old-2']);
    expect(done(two({}, { active: true, actual: 0 }), 2_000)).toEqual(['deactivate old-1']);
  });

  it.each<[string, Partial<FleetPod>]>([
    ['is not ready', { ready: false }],
    ['is not heard', { unheard: true }],
  ])('moves at once when the pod that has it %s', (_, lost) => {
    expect(done(two(lost, {}), 2_000)).toEqual(['activate old-2']);
  });
});

describe('a set that has the traffic', () => {
  it('is one of which a gate is open, whatever was remembered', () => {
    expect(look([old, serving], STAGED, { now: 9 }).memory.staged).toEqual({
      set: 'new',
      since: 0,
      handedOverAt: 9,
      readyAt: 9,
    });
  });

  it('leaves the old set its label until each of its pods is Ready', () => {
    const opened = fleetPod('new-1', { gate: 'open', opening: true, active: true });
    expect(words(look([old, opened], HANDED).actions)).toEqual([]);
    expect(words(look([old, serving], HANDED).actions)).toEqual(['deactivate old-1']);
  });

  it('soaks, and is proven', () => {
    const passive = fleetPod('old-1', { active: false });
    const provenAt = 32_000 + TAKEN_MS;
    expect(look([passive, serving], SOAKING, { now: provenAt - 1 })).toMatchObject({
      stage: 'Soaking',
      lookAt: provenAt,
    });
    expect(look([passive, serving], SOAKING, { now: provenAt })).toMatchObject({
      stage: 'Current',
      memory: { current: 'new' },
      actions: [],
    });
  });

  it('is proven when Kubernetes has taken the old set', () => {
    expect(look([serving], SOAKING, { now: 3_000 }).memory).toEqual({ current: 'new' });
  });

  it('keeps it through a short trouble, and loses it by one that lasts: the label comes back first', () => {
    const bad = { ...serving, missing: missing('FirewallRule a', 'RefusedByOpenwrt') };
    const passive = fleetPod('old-1', { active: false });
    const first = look([passive, bad], SOAKING, { now: 3_000 });
    expect(first).toMatchObject({ stage: 'Soaking', lookAt: 3_000 + TROUBLE_MS });
    const then = look([passive, bad], first.memory, { now: 3_000 + TROUBLE_MS });
    expect(then.memory.failed).toEqual({
      set: 'new',
      why: 'FirewallRule a: RefusedByOpenwrt (on new-1)',
    });
    // The label of the new set goes when the old one has it.
    expect(words(then.actions)).toEqual(['activate old-1', 'close new-1']);
    const after = look([old, { ...bad, gate: 'closed', ready: false }], then.memory);
    expect(words(after.actions)).toEqual(['deactivate new-1']);
  });

  it('keeps it while its container is started again, with the label back at the old set, and loses it by one that does not come back', () => {
    const passive = fleetPod('old-1', { active: false });
    const ended = {
      ...serving,
      ready: false,
      containersReady: false,
      notReadySince: 3_000,
      notReady: 'container sdewan-agent is not ready',
    };
    const first = look([passive, ended], SOAKING, { now: 3_000 + RESTART_MS - 1 });
    expect(first.stage).toBe('HandedOver');
    expect(words(first.actions)).toEqual(['activate old-1']);
    const back = look([old, serving], first.memory, { now: 3_000 + RESTART_MS });
    expect([back.stage, words(back.actions)]).toEqual(['Soaking', ['deactivate old-1']]);
    const late = look([old, ended], first.memory, { now: 3_000 + RESTART_MS });
    expect(late.stage).toBe('HandedOver');
    const now = 3_000 + RESTART_MS + TROUBLE_MS;
    expect(look([old, ended], late.memory, { now }).memory.failed).toEqual({
      set: 'new',
      why: 'new-1: container sdewan-agent is not ready',
    });
  });

  it('is not in trouble by what the old set lacks as well', () => {
    const red = missing('FirewallRule a', 'RefusedByOpenwrt');
    const both = [fleetPod('old-1', { active: false, missing: red }), { ...serving, missing: red }];
    expect(look(both, SOAKING, { now: 3_000 }).memory.staged).not.toHaveProperty('troubledAt');
  });

  it('is not in trouble by a report that is late for both sets', () => {
    const silent = [
      fleetPod('old-1', { link: 'Silent' }),
      fleetPod('new-1', { ...serving, link: 'Silent' }),
    ];
    expect(look(silent, SOAKING, { now: 3_000 }).memory.staged).not.toHaveProperty('troubledAt');
  });

  it('is not in trouble by a pod that waits behind its gate', () => {
    const made = fleetPod('new-2', { containersReady: false });
    const { memory } = look([old, serving, made], SOAKING, { now: 3_000, replicas: 2 });
    expect(memory.staged).toEqual({ set: 'new', since: 0, handedOverAt: 1_000 });
  });

  it('loses it before a newer template is tried', () => {
    const { actions, memory } = look([old, serving], SOAKING, { superseded: true });
    expect(words(actions)).toEqual(['deactivate new-1', 'close new-1']);
    expect(memory.failed).toBeUndefined();
  });

  describe('while Kubernetes may be taking the old pods for it', () => {
    const pods = [old, { ...serving, readySince: 1_000 }];
    const [before, after] = [28_000, 33_000];

    it('keeps it, though a newer template is there', () => {
      const at = (now: number) => look(pods, SOAKING, { superseded: true, now });
      expect(words(at(before - 1).actions)).toContain('close new-1');
      for (const now of [before, after - 1])
        expect(words(at(now).actions)).not.toContain('close new-1');
    });

    it('keeps it, though it is in trouble, and is given up after that', () => {
      const bad = { ...serving, readySince: 1_000, missing: missing('FirewallRule a') };
      const troubled = {
        ...SOAKING,
        staged: { ...SOAKING.staged, set: 'new', since: 0, troubledAt: 0 },
      };
      const at = (now: number) => look([old, bad], troubled, { now });
      expect(at(before - 1).stage).toBe('Failed');
      expect(at(before)).toMatchObject({ stage: 'Soaking', lookAt: after });
      expect(at(after).stage).toBe('Failed');
    });

    it('keeps what it has still when it was given up before', () => {
      const failed = { ...SOAKING, failed: { set: 'new', why: 'bad' } };
      const at = (now: number) => look(pods, failed, { now });
      expect(at(before)).toMatchObject({ stage: 'Failed', actions: [], lookAt: after });
      expect(words(at(after).actions)).toContain('close new-1');
    });
  });

  it('keeps all that it has while no pod of the old set is Ready', () => {
    const gone = fleetPod('old-1', { ready: false, containersReady: false });
    const bad = { ...serving, missing: missing('FirewallRule a') };
    const failed = { ...SOAKING, failed: { set: 'new', why: 'bad' } };
    expect(words(look([gone, bad], failed).actions)).toEqual([]);
  });
});

describe('a set that serves', () => {
  it('is the first one of which a pod was ready', () => {
    expect(look([fleetPod('new-1')], {}).stage).toBe('Creating');
    const ready = fleetPod('new-1', { ready: true, gate: 'none', active: true });
    expect(look([ready], {})).toMatchObject({ stage: 'Current', memory: { current: 'new' } });
  });

  it('is held back by no gate', () => {
    const lost = fleetPod('old-2', { ready: false, gate: 'closed', active: false });
    expect(words(look([old, lost], OLD, { wanted: 'old' }).actions)).toEqual([
      'open old-2',
      'rate old-2',
    ]);
    expect(words(look([lost], {}).actions)).toEqual(['open old-2']);
  });

  it('serves alone after a roll-back, and the failure stays known', () => {
    const failed = { current: 'old', failed: { set: 'new', why: 'late' } };
    const decision = look([old, serving], failed, { wanted: 'old' });
    expect(decision).toMatchObject({ stage: 'Failed', memory: failed });
    expect(words(decision.actions)).toEqual(['deactivate new-1', 'close new-1']);
  });

  it('leaves the gates of a set that it has followed as they are', () => {
    const before = fleetPod('older-1', { ready: true, gate: 'open', active: true });
    expect(words(look([old, before], OLD, { wanted: 'old' }).actions)).toEqual([
      'deactivate older-1',
    ]);
  });
});

describe('a set without gates', () => {
  const bare = fleetPod('new-1', { gate: 'none', ready: true });

  it('is proven with every rule, when the old set has gone', () => {
    expect(look([old, bare], STAGED)).toMatchObject({ stage: 'Connected' });
    expect(look([bare], STAGED).memory).toEqual({ current: 'new' });
  });

  it('is given up at the deadline', () => {
    const red = { ...bare, missing: missing('FirewallRule a') };
    expect(look([red], STAGED, { now: 900_000 }).stage).toBe('Failed');
  });
});

it('takes a roll-out without any pods for one at its end', () => {
  expect(look([], STAGED, { replicas: 0 }).memory).toEqual({ current: 'new' });
});

describe('a set that people promote', () => {
  const without = fleetPod('new-1', { missing: missing('FirewallRule deny-ssh') });
  const promoted = { promoted: true };

  it('is given the traffic without a rule that only the old set has, and names it', () => {
    const { stage, actions, excused } = look([old, without], STAGED, promoted);
    expect(stage).toBe('HandedOver');
    expect(words(actions)).toEqual(['activate new-1', 'open new-1']);
    expect(excused).toEqual(['FirewallRule deny-ssh']);
  });

  it('is proven after its soak, still without the rule', () => {
    const pods = [old, { ...serving, missing: without.missing }];
    const { stage, memory } = look(pods, SOAKING, { ...promoted, now: 40_000 });
    expect([stage, memory]).toEqual(['Current', { current: 'new' }]);
  });

  it.each<[string, Partial<FleetPod>]>([
    ['runs', { containersReady: false }],
    ['reports', { link: 'Silent' }],
  ])('waits until it %s', (_, changes) => {
    const { stage, actions } = look([old, { ...without, ...changes }], STAGED, promoted);
    expect([stage, words(actions)]).toEqual(['Staged', []]);
  });

  it('waits while the roll-out is paused', () => {
    const { stage } = look([old, without], STAGED, { ...promoted, paused: true });
    expect(stage).toBe('Connected');
  });

  it('loses the traffic again when it goes silent while it soaks', () => {
    const troubled = {
      ...SOAKING,
      staged: { set: 'new', since: 0, handedOverAt: 1, readyAt: 2, troubledAt: 3 },
    };
    const pods = [old, { ...serving, ...without, link: 'Silent' as const, gate: 'open' as const }];
    const { stage } = look(pods, troubled, { ...promoted, now: TROUBLE_MS + 3 });
    expect(stage).toBe('Failed');
  });

  it('is not tried again after it has failed', () => {
    const failed: Memory = { ...STAGED, failed: { set: 'new', why: 'x' } };
    expect(look([old, without], failed, promoted).stage).toBe('Failed');
  });
});

describe('pod by pod', () => {
  const byOne: Partial<RollOutFacts> = { podByPod: true, replicas: 3, now: 5 };
  const two = [old, fleetPod('old-2', { active: false })];
  const joined = fleetPod('new-1', { ready: true, gate: 'open' });

  it('lets a new pod serve beside the old ones as soon as it has every rule, and leaves the label with them', () => {
    const three = [...two, fleetPod('old-3', { active: false })];
    const { actions, memory, stage, distances } = look([...three, next], STAGED, byOne);
    expect([stage, words(actions)]).toEqual(['HandedOver', ['open new-1']]);
    expect(memory).toEqual(STAGED);
    expect(distances.get('new-1')?.distance).toBe(3);
  });

  it.each<[string, Partial<FleetPod>, Partial<RollOutFacts>]>([
    ['lacks a rule', { missing: missing('FirewallRule a') }, {}],
    ['has not confirmed its distance', { actual: undefined }, {}],
    ['is of a paused roll-out', {}, { paused: true }],
  ])('lets one wait that %s', (_, changes, more) => {
    const pods = [...two, joined, fleetPod('new-2', changes)];
    expect(words(look(pods, STAGED, { ...byOne, ...more }).actions)).toEqual([]);
  });

  it('moves the label when the last new pod is there', () => {
    const pods = [old, joined, fleetPod('new-2', { ready: true, gate: 'open' }), fleetPod('new-3')];
    const { actions, memory } = look(pods, STAGED, byOne);
    expect(words(actions)).toEqual(['activate new-1', 'open new-3', 'rate new-2', 'rate new-3']);
    expect(memory.staged).toMatchObject({ handedOverAt: 5 });
  });

  it('serves while no old pod can', () => {
    const lost = fleetPod('old-1', { ready: false, containersReady: false });
    const { actions } = look([lost, fleetPod('new-1', { actual: undefined })], STAGED, byOne);
    expect(words(actions)).toEqual(['activate new-1', 'open new-1']);
  });

  it('is given up for a pod that serves and goes bad, after a while, and serves on until the old pods are back', () => {
    const bad = { ...joined, missing: missing('FirewallRule a') };
    const troubled = look([...two, bad], STAGED, byOne);
    expect([troubled.stage, troubled.lookAt]).toEqual(['Staged', TROUBLE_MS + 5]);
    const later = { ...byOne, now: TROUBLE_MS + 5 };
    const failed = look([...two, bad], troubled.memory, later);
    expect([failed.stage, words(failed.actions)]).toEqual(['Failed', []]);
    expect(failed.memory.failed?.why).toContain('FirewallRule a');
    const back = look([...two, fleetPod('old-3', { active: false }), bad], failed.memory, later);
    expect(words(back.actions)).toEqual(['close new-1']);
  });

  it('is given up at the deadline, by what is missing', () => {
    const late = fleetPod('new-2', { missing: missing('FirewallRule a') });
    const { stage, memory } = look([...two, joined, late], STAGED, { ...byOne, now: 900_000 });
    expect([stage, memory.failed?.why]).toEqual(['Failed', '2 of 3 pods are there']);
  });
});
