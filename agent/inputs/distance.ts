/**
 * How near this pod is to the traffic of its CNF: the last order of a coordinator, kept on disk so
 * that it holds without one, and what of it is in force. An order is in force when a pass has
 * rendered the rules with it; where none of them would differ, at once.
 */
import * as z from 'zod';
import type { CnfPlace } from '#shared/resources/kind.ts';
import {
  fleetOrderSchema,
  UNORDERED_DISTANCE,
  type FleetWord,
  type FleetOrder,
} from '#shared/protocol/report.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

export type Distance = {
  /** With which rules are to be rendered. */
  place: () => CnfPlace;
  word: () => FleetWord;
  take: (order: FleetOrder) => void;
  /** A pass has brought OpenWRT to what the rules are at that place. */
  passed: (place: CnfPlace) => void;
};

export type DistanceDeps = {
  file: string;
  /** Rules differ by the place, or may do so. */
  isUsed: () => boolean;
  /** `place` is another. */
  onOrder: () => void;
  /** `word` is another. */
  onInForce: () => void;
  log: Logger;
};

const keptSchema = fleetOrderSchema
  .pick({ distance: true, peers: true, own: true })
  .extend({ version: z.literal(1) });
type Kept = z.infer<typeof keptSchema>;

const UNORDERED: Kept = { version: 1, distance: UNORDERED_DISTANCE, peers: [] };

/** @throws when the file exists and cannot be read */
export const openDistance = async ({
  file: path,
  isUsed,
  onOrder,
  onInForce,
  log,
}: DistanceDeps): Promise<Distance> => {
  const file = await openStateFile({ path, schema: keptSchema, initial: UNORDERED, log });
  let kept = file.value();
  let place = placeOf(kept);
  let inForce: number | undefined;
  let writing = Promise.resolve();

  /** One that cannot be kept holds while this agent runs: the report names the state folder. */
  const keep = (order: Kept): void => {
    writing = writing
      .then(() => file.write(order))
      .catch((error: unknown) =>
        log.warn({ reason: messageOf(error) }, 'failed to keep the distance of this pod'),
      );
  };

  const settle = (distance: number): void => {
    if (distance === inForce) return;
    inForce = distance;
    onInForce();
  };

  return {
    place: () => place,
    word: () => (inForce === undefined ? {} : { distance: inForce }),
    take: ({ distance, peers = kept.peers, own }) => {
      const order: Kept = { version: 1, distance, peers, ...(own && { own }) };
      if (JSON.stringify(order) === JSON.stringify(kept)) return;
      if (distance !== kept.distance) log.info({ distance }, 'this pod has another distance');
      kept = order;
      place = placeOf(order);
      keep(order);
      // Before its first pass OpenWRT is as another writer has left it.
      if (inForce === undefined || isUsed()) onOrder();
      else settle(distance);
    },
    // One that began with the place before may end after an order.
    passed: (placed) => settle((isUsed() ? placed : place).distance),
  };
};

const placeOf = ({ distance, peers, own }: Kept): CnfPlace => ({
  distance,
  peers: byDevice(peers),
  ...(own && { own: byDevice(own) }),
});

const byDevice = (listed: Kept['peers'] = []): CnfPlace['peers'] =>
  new Map(listed.map(({ device, addresses }) => [device, addresses]));
