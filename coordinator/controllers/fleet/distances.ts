/**
 * How near each pod of a CNFDeployment is to the traffic: 0, 1 and 2 in the set that leads, 3 and
 * more in the others. Pure: one write of the status gives all of them, so there is never more than
 * one at 0.
 */
import { isIP } from 'node:net';
import { withoutLength } from '#shared/policy/address-blocks.ts';
import type { Information } from '#shared/protocol/information.ts';
import {
  MAX_ADDRESSES_OF_DEVICE,
  MAX_ADDRESSES_OF_POD,
  MAX_DEVICES,
  MAX_DISTANCE,
  UNORDERED_DISTANCE,
  type FleetOrder,
} from '#shared/protocol/report.ts';
import type { FleetPod } from './pod.ts';

export type Placed = {
  distance: number;
  /** Since when it is wanted so; wall-clock milliseconds. */
  since: number;
};
/** By the pod's name. */
export type Distances = ReadonlyMap<string, Placed>;

/** What an agent has without an order: a pod of a staged set waits for no coordinator. */
const STAGED = UNORDERED_DISTANCE;
/** Standbys beyond it are alike. */
const FARTHEST_RANK = 2;
const COST_OF_WEIGHT = 10;

/** `leading`: the set that is to have the traffic. While only others' pods can, theirs is. */
export const distancesOf = (
  pods: readonly FleetPod[],
  leading: string | undefined,
  { before, now }: { before: Distances; now: number },
): Distances => {
  const ranked = pods.toSorted((one, other) => compare(one, other, before));
  const first = ranked.find((pod) => pod.set === leading);
  const able = ranked.find((pod) => pod.ready && isFit(pod));
  const { set } = (first && isFit(first) ? first : (able ?? first ?? ranked[0])) ?? {
    set: leading,
  };
  const near = ranked.filter((pod) => pod.set === set);
  const far = pods
    .filter((pod) => pod.set !== set)
    .toSorted((one, other) => compareWell(one, other, before));
  return new Map([...placedFrom(near, 0), ...placedFrom(far, STAGED)].map(placeIn(before, now)));
};

const placedFrom = (ranked: readonly FleetPod[], base: number): [string, number][] =>
  ranked.map(({ name }, rank) => [
    name,
    Math.min(Math.min(rank, FARTHEST_RANK) + base, MAX_DISTANCE),
  ]);

const placeIn =
  (before: Distances, now: number) =>
  ([name, distance]: [string, number]): [string, Placed] => {
    const known = before.get(name);
    return [name, known?.distance === distance ? known : { distance, since: now }];
  };

/**
 * Health comes before the weight: a pod that is lost takes its weight along, and one on a cordoned
 * node is about to be. The present distance comes before the age, so one that comes back takes
 * nothing back.
 */
const compare = (one: FleetPod, other: FleetPod, before: Distances): number =>
  healthOf(other) - healthOf(one) ||
  Number(one.leaving) - Number(other.leaving) ||
  compareWell(one, other, before);

/** Whatever their health: that of pods which only start, without traffic, changes all the time. */
const compareWell = (one: FleetPod, other: FleetPod, before: Distances): number =>
  other.weight - one.weight ||
  distanceIn(before, one) - distanceIn(before, other) ||
  other.createdAt - one.createdAt ||
  (one.name < other.name ? -1 : 1);

const distanceIn = (before: Distances, { name }: FleetPod): number =>
  before.get(name)?.distance ?? MAX_DISTANCE + 1;

const healthOf = (pod: FleetPod): number => {
  if (!runs(pod)) return 0;
  return pod.unheard ? 1 : 2;
};

/** It runs, and its agent is not missed. */
export const isFit = (pod: FleetPod): boolean => healthOf(pod) === 2;

/** Behind a gate no pod is ready. */
const runs = ({ gate, opening, ready, containersReady }: FleetPod): boolean =>
  gate === 'closed' || opening ? containersReady : ready;

/** Its agent reports that it is in force. */
export const isConfirmed = ({ name, actual }: FleetPod, of: Distances): boolean =>
  actual !== undefined && actual === toldOf(of, name);

const toldOf = (of: Distances, name: string): number => of.get(name)?.distance ?? STAGED;

/** The first of them by distance. */
export const nearestIn = (pods: readonly FleetPod[], of: Distances): FleetPod | undefined =>
  pods.toSorted((one, other) => distanceIn(of, one) - distanceIn(of, other))[0];

/** A ReplicaSet that is scaled down takes the pods with the lowest cost first. */
export const deletionCostOf = ({ name, weight }: FleetPod, of: Distances): number =>
  weight * COST_OF_WEIGHT - (of.get(name)?.distance ?? 0);

export const isNear = ({ distance }: Pick<Placed, 'distance'>): boolean => distance < STAGED;

/** The near pods are the same, each at its place. The distances of all others do nothing. */
export const samePlaces = (one: Distances, other: Distances): boolean => {
  const near = [...one, ...other].filter(([, placed]) => isNear(placed));
  return near.every(([name]) => one.get(name)?.distance === other.get(name)?.distance);
};

/** What each pod is told, by its name. `addressesOf`: of its devices. */
export const fleetOrders = (
  pods: readonly Pick<FleetPod, 'name'>[],
  of: Distances,
  {
    nextReportMs,
    addressesOf,
  }: {
    nextReportMs: number;
    addressesOf: (pod: string) => ReadonlyMap<string, readonly string[]>;
  },
): ReadonlyMap<string, FleetOrder> =>
  new Map(
    pods.map(({ name }) => {
      const others = pods.filter((pod) => pod.name !== name).map((pod) => addressesOf(pod.name));
      const devices = [...addressesOf(name).keys()].toSorted();
      // What another has on a device that this pod does not have, no rule of this pod asks for.
      const peers = listed(devices, others).filter(({ addresses }) => addresses.length > 0);
      const own = listed(devices, [addressesOf(name)]);
      return [name, { distance: toldOf(of, name), nextReportMs, peers, own }];
    }),
  );

const listed = (
  devices: readonly string[],
  known: readonly ReadonlyMap<string, readonly string[]>[],
): NonNullable<FleetOrder['peers']> =>
  devices.map((device) => ({
    device,
    addresses: known.flatMap((each) => each.get(device) ?? []).toSorted(),
  }));

/**
 * Device -> addresses, as the agent of a pod has reported them, and no more than is told to the
 * others: the administrator of one OpenWRT must not fill their answers.
 */
export const devicesIn = (
  information: Pick<Information, 'interfaces'> | undefined,
): ReadonlyMap<string, readonly string[]> => {
  const placed = (information?.interfaces ?? []).flatMap(({ device, addresses }) =>
    device === undefined ? [] : [{ device, addresses }],
  );
  const byDevice = [...Map.groupBy(placed, ({ device }) => device)].slice(0, MAX_DEVICES);
  let room = MAX_ADDRESSES_OF_POD;
  return new Map(
    byDevice.map(([device, interfaces]) => {
      const all = interfaces.flatMap(({ addresses }) => addresses.map(withoutLength));
      const addresses = [...new Set(all.filter((address) => isIP(address) !== 0))];
      const told = addresses.slice(0, Math.min(room, MAX_ADDRESSES_OF_DEVICE));
      room -= told.length;
      return [device, told];
    }),
  );
};
