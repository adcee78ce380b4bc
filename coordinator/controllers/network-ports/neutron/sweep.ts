/**
 * What one list of a network's ports in Neutron says: NetworkPorts whose port is not in it, and
 * ports of ours without a NetworkPort, as a call leaves them whose answer was lost. Pure.
 */
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { uidIn } from '../../../neutron/names.ts';
import type { MadePort } from '../../../neutron/ports.ts';
import { isReleased } from '../claims.ts';

/** A cluster restored from a backup knows few of its ports: so many at once are not swept. */
const MOST_SWEPT = 20;
const MOST_SHARE = 0.2;

export type ListedPorts = {
  /** Its mark. */
  cluster: string;
  /** All of the network. */
  listed: readonly MadePort[];
  /** All NetworkPorts, of other networks as well, known after the list. */
  objects: readonly NetworkPort[];
  network: string;
  now: number;
  /** When the ports without a NetworkPort were first seen so, by id. */
  seen: ReadonlyMap<string, number>;
  /** Between the two lists that have to lack the NetworkPort. */
  afterMs: number;
};

export type Sweep = {
  missing: readonly NetworkPort[];
  /** To be deleted in Neutron. */
  remove: readonly MadePort[];
  seen: ReadonlyMap<string, number>;
  /** Why none is removed, in words. */
  held: string | undefined;
};

export const sweepOf = (facts: ListedPorts): Sweep => {
  const { cluster, listed, objects, network, now, seen, afterMs } = facts;
  const ids = new Set(listed.map(({ id }) => id));
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const ours = listed.flatMap((port) => {
    const uid = uidIn(cluster, port.name);
    return uid === undefined ? [] : [{ port, uid }];
  });
  const orphans = ours.filter(({ uid }) => !uids.has(uid)).map(({ port }) => port);
  const isHeld = orphans.length > MOST_SWEPT && orphans.length > MOST_SHARE * ours.length;
  const since = new Map(orphans.map(({ id }) => [id, seen.get(id) ?? now]));
  // One that is plugged in may carry packets.
  const due = orphans.filter(
    ({ id, status }) => status !== 'ACTIVE' && (since.get(id) ?? now) + afterMs <= now,
  );
  return {
    missing: objects.filter(
      ({ spec, status, ...port }) =>
        spec.network === network &&
        !isReleased({ ...port, spec, status }) &&
        status?.portID !== undefined &&
        !ids.has(status.portID),
    ),
    remove: isHeld ? [] : due,
    seen: since,
    held: isHeld
      ? `${orphans.length} of ${ours.length} ports of this cluster in Neutron have no NetworkPort, and none of them is deleted: where the cluster was restored from a backup, or another has the same uid of namespace kube-system, find out whose they are, and delete those that nothing uses by hand`
      : undefined,
  };
};
