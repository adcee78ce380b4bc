import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import type { Information } from '#shared/protocol/information.ts';
import {
  MAX_ANSWER_BYTES,
  MAX_FLEET_PODS,
  REPORT_VERSION,
  reportAnswerSchema,
} from '#shared/protocol/report.ts';
import {
  deletionCostOf,
  devicesIn,
  distancesOf,
  fleetOrders,
  isConfirmed,
  isFit,
  samePlaces,
  type Distances,
} from './distances.ts';
import type { FleetPod } from './pod.ts';
import { fleetPod } from './testing/facts.ts';

const NONE: Distances = new Map();
const of = (pods: readonly FleetPod[], leading = 'old', before = NONE): Record<string, number> =>
  Object.fromEntries(
    [...distancesOf(pods, leading, { before, now: 7 })].map(([name, { distance }]) => [
      name,
      distance,
    ]),
  );
const at = (placed: Record<string, number>): Distances =>
  new Map(Object.entries(placed).map(([name, distance]) => [name, { distance, since: 1 }]));

describe('the distances of pods', () => {
  it('stay while the kubelet has not come to the gates that were opened', () => {
    const opened = fleetPod('new-1', { gate: 'open', opening: true });
    expect(of([fleetPod('old-1'), opened], 'new')).toEqual({ 'new-1': 0, 'old-1': 3 });
    const lost = fleetPod('new-1', { gate: 'open' });
    expect(of([fleetPod('old-1'), lost], 'new')).toEqual({ 'new-1': 3, 'old-1': 0 });
  });

  it('are 0, 1 and 2 in the set that leads, and 3 and more in another', () => {
    const pods = ['old-1', 'old-2', 'old-3', 'old-4', 'new-1', 'new-2'].map((name) =>
      fleetPod(name),
    );
    expect(of(pods)).toEqual({
      'old-1': 0,
      'old-2': 1,
      'old-3': 2,
      'old-4': 2,
      'new-1': 3,
      'new-2': 4,
    });
    expect(of(pods, 'new')).toMatchObject({ 'new-1': 0, 'new-2': 1, 'old-1': 3, 'old-4': 5 });
  });

  it.each<[string, Partial<FleetPod>, Partial<FleetPod>, Record<string, number>]>([
    ['its weight', { weight: 0 }, { weight: 1 }, {}],
    ['a weight that is below none', { weight: -1 }, {}, {}],
    ['its place of before', { createdAt: 2 }, { createdAt: 1 }, { 'old-1': 1, 'old-2': 0 }],
    ['its youth', { createdAt: 1 }, { createdAt: 2 }, {}],
    ['its weight, before its place', {}, { weight: 1 }, { 'old-1': 0, 'old-2': 1 }],
    ['its readiness, before all else', { ready: false, weight: 9 }, {}, { 'old-1': 0 }],
    ['its voice, before all else', { unheard: true, weight: 9 }, {}, { 'old-1': 0 }],
  ])('put a pod first by %s', (_, one, other, before) => {
    const pods = [fleetPod('old-1', one), fleetPod('old-2', other)];
    expect(of(pods, 'old', at(before))).toEqual({ 'old-2': 0, 'old-1': 1 });
  });

  it('give nothing back to an active pod that comes back', () => {
    const pods = [fleetPod('old-1', { unheard: true }), fleetPod('old-2')];
    const moved = distancesOf(pods, 'old', { before: at({ 'old-1': 0, 'old-2': 1 }), now: 7 });
    expect(moved.get('old-2')).toEqual({ distance: 0, since: 7 });
    const back = [fleetPod('old-1'), fleetPod('old-2')];
    expect(distancesOf(back, 'old', { before: moved, now: 9 })).toEqual(moved);
  });

  it('go to a staged set while no pod of the other can have the traffic', () => {
    const lost = fleetPod('old-1', { ready: false, containersReady: false });
    expect(of([lost, fleetPod('new-1')])).toEqual({ 'old-1': 0, 'new-1': 3 });
    expect(of([lost, fleetPod('new-1', { gate: 'open', ready: true })])).toEqual({
      'new-1': 0,
      'old-1': 3,
    });
    expect(of([fleetPod('new-1')])).toEqual({ 'new-1': 0 });
  });

  it('put pods on a cordoned node last of those that are well, whatever their weight', () => {
    const leaving = fleetPod('old-1', { leaving: true, weight: 9 });
    expect(of([leaving, fleetPod('old-2')])).toEqual({ 'old-2': 0, 'old-1': 1 });
    const lost = fleetPod('old-2', { ready: false, containersReady: false });
    expect(of([leaving, lost])).toEqual({ 'old-1': 0, 'old-2': 1 });
  });

  it('stay as they are for a staged set while its pods start', () => {
    const starts = { gate: 'closed', ready: false, containersReady: false } as const;
    const before = at({ 'old-1': 0, 'new-1': 3, 'new-2': 4 });
    const pods = [fleetPod('old-1'), fleetPod('new-1', starts), fleetPod('new-2')];
    expect(of(pods, 'old', before)).toEqual({ 'old-1': 0, 'new-1': 3, 'new-2': 4 });
    expect(of(pods, 'new', before)).toEqual({ 'old-1': 3, 'new-1': 1, 'new-2': 0 });
  });

  it('have one 0, whatever pods there are, and that pod can have the traffic where one of them can', () => {
    const pod = fc.record({
      set: fc.constantFrom('old', 'new', 'older'),
      ready: fc.boolean(),
      containersReady: fc.boolean(),
      unheard: fc.boolean(),
      gate: fc.constantFrom('none' as const, 'closed' as const, 'open' as const),
      weight: fc.integer({ min: -2, max: 2 }),
    });
    const pods = fc.array(pod, { minLength: 1, maxLength: 12 }).map((list) =>
      list.map((each, index) =>
        fleetPod(`${each.set}-${index}`, {
          ...each,
          ready: each.ready && each.gate !== 'closed',
        }),
      ),
    );
    fc.assert(
      fc.property(pods, fc.shuffledSubarray([0, 1, 2, 3]), (some, places) => {
        const before = at(Object.fromEntries(places.map((place) => [`old-${place}`, place])));
        const distances = distancesOf(some, 'old', { before, now: 7 });
        const [nearest, ...others] = some.filter(({ name }) => distances.get(name)?.distance === 0);
        expect(others).toEqual([]);
        expect(nearest).toBeDefined();
        const canOne = some.some((each) => each.ready && isFit(each));
        expect(canOne && nearest !== undefined && !isFit(nearest)).toBe(false);
        const reversed = distancesOf(some.toReversed(), 'old', { before, now: 7 });
        expect(new Map(reversed)).toEqual(new Map(distances));
      }),
    );
  });
});

it('are confirmed by what the agent has in force, and an agent that knows of none is not asked', () => {
  const distances = at({ 'old-1': 0 });
  const confirmed = (changes: Partial<FleetPod>): boolean =>
    isConfirmed(fleetPod('old-1', { actual: undefined, ...changes }), distances);
  expect(confirmed({ actual: 0 })).toBe(true);
  expect(confirmed({ actual: 1 })).toBe(false);
  expect(confirmed({ actual: undefined })).toBe(false);
});

it('count as confirmed on a pod without one when it has the one that agents begin with', () => {
  const confirmed = (actual: number): boolean => isConfirmed(fleetPod('new-1', { actual }), NONE);
  expect([confirmed(3), confirmed(4)]).toEqual([true, false]);
});

it('keep the places while the near pods are the same, whatever others come and go', () => {
  const places = at({ 'old-1': 0, 'old-2': 1 });
  expect(samePlaces(places, at({ 'old-1': 0, 'old-2': 1, 'new-1': 3 }))).toBe(true);
  expect(samePlaces(at({ 'old-1': 0, 'old-2': 1, 'new-1': 4 }), places)).toBe(true);
  expect(samePlaces(places, at({ 'old-1': 1, 'old-2': 0 }))).toBe(false);
  expect(samePlaces(places, at({ 'old-1': 0 }))).toBe(false);
  expect(samePlaces(places, at({ 'old-1': 3, 'old-2': 4, 'new-1': 0 }))).toBe(false);
});

it('take the lightest pod first in a scale-down, and among equals the farthest', () => {
  const distances = at({ 'old-1': 0, 'old-2': 2 });
  expect(deletionCostOf(fleetPod('old-1'), distances)).toBe(0);
  expect(deletionCostOf(fleetPod('old-2'), distances)).toBe(-2);
  expect(deletionCostOf(fleetPod('old-2', { weight: 3 }), distances)).toBe(28);
});

it('come in an order with the addresses of all other pods on devices that the pod has', () => {
  const addresses = new Map([
    ['old-1', new Map([['net1', ['10.0.0.1']]])],
    ['old-2', new Map([['net1', ['10.0.0.2', 'fd00::2']]])],
    [
      'new-1',
      new Map([
        ['net1', []],
        ['net2', ['10.1.0.3']],
      ]),
    ],
  ]);
  const pods = [...addresses.keys()].map((name) => fleetPod(name));
  const orders = fleetOrders(pods, at({ 'old-1': 0, 'old-2': 1 }), {
    nextReportMs: 2_000,
    addressesOf: (pod) => addresses.get(pod) ?? new Map(),
  });
  expect(orders.get('old-1')).toEqual({
    distance: 0,
    nextReportMs: 2_000,
    peers: [{ device: 'net1', addresses: ['10.0.0.2', 'fd00::2'] }],
    own: [{ device: 'net1', addresses: ['10.0.0.1'] }],
  });
  expect(orders.get('new-1')).toMatchObject({
    distance: 3,
    peers: [{ device: 'net1', addresses: ['10.0.0.1', '10.0.0.2', 'fd00::2'] }],
  });
});

describe('what is told of the addresses of a pod', () => {
  const on = (device: string | undefined, ...addresses: string[]) => ({
    name: 'lan',
    up: true,
    ...(device !== undefined && { device }),
    addresses,
  });

  it('is those of all interfaces of a device, and no text that is no address', () => {
    const interfaces = [
      on('net1', '10.0.0.1/24', 'fd00::1/64'),
      on('net1', '10.0.0.1/32', '10.9.0.1/24', 'a text'),
      on(undefined, '10.0.0.2/24'),
    ];
    expect(devicesIn({ interfaces })).toEqual(
      new Map([['net1', ['10.0.0.1', 'fd00::1', '10.9.0.1']]]),
    );
    expect(devicesIn(undefined)).toEqual(new Map());
  });

  /** As many as information can have; the first is a tenant's, the last are a hostile OpenWRT's. */
  const hostile = (pod: number): Pick<Information, 'interfaces'> => ({
    interfaces: Array.from({ length: 64 }, (_, at) =>
      on(
        `${pod < 8 ? '\u0001' : 'x'}${at}`.padEnd(64, pod < 8 ? '\u0001' : 'y'),
        ...Array.from(
          { length: 16 },
          (_one, one) => `fd00:1111:2222:3333:4444:${pod + 4_096}:${at + 4_096}:${one + 4_096}/128`,
        ),
      ),
    ),
  });
  it.each<[string, (pod: number) => Pick<Information, 'interfaces'>]>([
    ['hostile OpenWRTs', hostile],
    [
      'eight pods with three addresses each',
      () => ({ interfaces: [on('net1', '10.0.0.1/24', 'fd00::1/64', 'fe80::1/64')] }),
    ],
    [
      'many interfaces on one device',
      (pod) => ({
        interfaces: hostile(pod).interfaces.map(({ addresses }) => on('net1', ...addresses)),
      }),
    ],
  ])('fits into the answer to each, whatever they report: %s', (_, informationOf) => {
    const reported = Array.from({ length: MAX_FLEET_PODS }, (__, pod) =>
      devicesIn(informationOf(pod)),
    );
    const pods = reported.map((__, pod) => fleetPod(`p-${pod}`));
    const orders = fleetOrders(pods, at({ 'p-0': 0 }), {
      nextReportMs: 2_000,
      addressesOf: (name) => reported[Number(name.slice(2))] ?? new Map(),
    });
    for (const fleet of orders.values()) {
      const answer = { epoch: 'e'.repeat(64), version: REPORT_VERSION, leaseTransitions: 1, fleet };
      expect(reportAnswerSchema.parse(answer)).toEqual(answer);
      expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(MAX_ANSWER_BYTES);
      expect(fleet.peers?.[0]?.addresses.length).toBeGreaterThan(MAX_FLEET_PODS - 2);
    }
  });
});

it.each<[string, object]>([
  [
    'peers',
    { peers: [{ device: 'net1', addresses: Array.from({ length: 300 }, () => '10.0.0.1') }] },
  ],
  [
    'addresses of its own',
    { own: Array.from({ length: 65 }, () => ({ device: 'net1', addresses: [] })) },
  ],
])('are given without too many %s', (_, part) => {
  const fleet = { distance: 1, nextReportMs: 2_000, ...part };
  const answer = { epoch: 'e', version: REPORT_VERSION };
  expect(reportAnswerSchema.parse({ ...answer, fleet })).toMatchObject({
    ...answer,
    fleet: { distance: 1 },
  });
  const wrong = { ...fleet, distance: 99 };
  expect(reportAnswerSchema.parse({ ...answer, fleet: wrong })).toEqual(answer);
});
