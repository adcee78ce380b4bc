/**
 * Events on pods that get addresses, or wait for them. What is so is told once, and a warning again
 * after half an hour, since Events live for one.
 */
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { NETWORK_PORTS_ANNOTATION, PORTS_ROLE } from '#shared/names.ts';
import type { Claim, Wait } from './decide.ts';
import { portName } from './subnets.ts';

const TELL_AGAIN_MS = 30 * 60_000;

export type Announcer = {
  assigned: (pod: KubeObject, claims: readonly Claim[]) => void;
  waits: (pod: KubeObject, wait: Pick<Wait, 'message'> & { reason: string }) => void;
  forbidden: (pod: KubeObject) => void;
  /** It names a managed network and did not wait. */
  unmanaged: (pod: KubeObject, networks: readonly string[]) => void;
  /** Its CNI did not give it what was asked for. */
  differs: (pod: KubeObject, differences: readonly string[]) => void;
  held: (pod: KubeObject, node: string) => void;
  /** The port of a NetworkPort whose pod runs. */
  notMade: (port: KubeObject, message: string) => void;
  /** What a pod that waits was told last. */
  waitOf: (uid: string) => string | undefined;
  forget: (uid: string) => void;
};

export const createAnnouncer = (
  record: (event: RecordedEvent) => void,
  clock: Pick<Clock, 'monotonic'>,
): Announcer => {
  const told = new Map<string, { text: string; at: number }>();
  const waiting = new Map<string, string>();
  const warn = (object: KubeObject, reason: string, message: string): void => {
    const { uid } = object.metadata;
    const before = told.get(uid);
    const text = `${reason} ${message}`;
    if (before?.text === text && clock.monotonic() < before.at + TELL_AGAIN_MS) return;
    told.set(uid, { text, at: clock.monotonic() });
    record({ object, type: 'Warning', reason, message });
  };
  const waits = (object: KubeObject, reason: string, message: string): void => {
    waiting.set(object.metadata.uid, message);
    warn(object, reason, message);
  };
  const forget = (uid: string): void => {
    told.delete(uid);
    waiting.delete(uid);
  };
  return {
    assigned: (object, claims) => {
      forget(object.metadata.uid);
      const message = claims
        .map(
          ({ ask, spec }) =>
            `${ask.interface}: ${spec.addresses.join(' ')} (NetworkPort ${portName(spec)})`,
        )
        .join('; ');
      if (claims.length > 0)
        record({ object, type: 'Normal', reason: 'AddressesAssigned', message });
    },
    waits: (object, { reason, message }) =>
      waits(object, reason, `waits for its addresses: ${message}`),
    forbidden: (object) =>
      waits(
        object,
        'AddressesForbidden',
        `waits for its addresses, which the coordinator may not write: bind ClusterRole ${PORTS_ROLE} to it in namespace ${object.metadata.namespace}`,
      ),
    unmanaged: (object, networks) =>
      warn(
        object,
        'AddressNotManaged',
        `the coordinator has given it no address in ${networks.join(', ')}: it was made with spec.nodeName, without the webhook, or where ClusterRole ${PORTS_ROLE} is not bound to the coordinator; it has no annotation ${NETWORK_PORTS_ANNOTATION}`,
      ),
    differs: (object, differences) =>
      warn(
        object,
        'AddressDiffers',
        `${differences.join('; ')}: its CNI does not obey its annotations, and policies go by the NetworkPort`,
      ),
    held: (object, node) =>
      warn(
        object,
        'NodeSilent',
        `its pod is gone, and node ${node} does not answer: the addresses stay claimed until it does, or its Node is deleted`,
      ),
    notMade: (object, message) =>
      warn(object, 'NotInNeutron', `its port in Neutron is gone, and cannot be made: ${message}`),
    waitOf: (uid) => waiting.get(uid),
    forget,
  };
};
