/** Events on policies and pods: that Neutron enforces a policy, that it does not and why, and why a port is left alone. Each once. */
import type { KubeObject } from '#shared/kube/objects.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { few } from '#shared/runtime/few.ts';
import type { AnyPolicy } from '../policy/watched.ts';
import type { PolicyWorld } from '../policy/world.ts';
import type { PortClaims } from './claims.ts';
import type { PresentInNeutron } from './present.ts';
import type { WantedResult } from './wanted.ts';

type Announced = {
  policies: readonly AnyPolicy[];
  result: WantedResult;
  claims: PortClaims;
  present: PresentInNeutron;
};
type Said = Omit<RecordedEvent, 'object' | 'once'>;

export type AnnouncerOptions = {
  world: Pick<PolicyWorld, 'policy' | 'podsWithPorts'>;
  record: (event: RecordedEvent) => void;
};

export const createAnnouncer = ({
  world,
  record,
}: AnnouncerOptions): ((announced: Announced) => void) => {
  /** By uid of a policy or a pod. */
  let said = new Map<string, string>();
  return ({ policies, result, claims, present }) => {
    const now = new Map<string, string>();
    const tell = (object: KubeObject | undefined, event: Said | undefined): void => {
      if (object === undefined || event === undefined) return;
      const { uid } = object.metadata;
      const text = `${event.reason} ${event.message}`;
      now.set(uid, text);
      if (said.get(uid) !== text) record({ object, ...event, once: true });
    };
    for (const { uid } of policies) tell(world.policy(uid), saidOf(uid, result, present));
    const pods = new Map(world.podsWithPorts().map((watched) => [watched.pod.uid, watched]));
    for (const { pod, reason, message } of claims.unguarded)
      tell(pods.get(pod.uid), {
        type: 'Warning',
        reason,
        message: `no NetworkPolicy holds for it in Neutron: ${message}`,
      });
    said = now;
  };
};

/** Undefined: the policy selects no port of ours. */
const saidOf = (
  uid: string,
  { refused, enforced }: WantedResult,
  present: PresentInNeutron,
): Said | undefined => {
  const refusal = refused.get(uid);
  if (refusal)
    return {
      type: 'Warning',
      reason: 'NotEnforced',
      message: `Neutron does not enforce the policy as it is now (${refusal.reason}): ${refusal.message}`,
    };
  const ports = enforced.get(uid) ?? [];
  if (ports.length === 0) return undefined;
  const open = ports.filter((id) =>
    present.ports.get(id)?.security_groups.some((group) => !present.groups.has(group)),
  );
  if (open.length > 0)
    return {
      type: 'Warning',
      reason: 'NotEnforced',
      message: `security groups of others on ports of its pods may let more pass than the policy (OtherGroups): ${few(open)}`,
    };
  return {
    type: 'Normal',
    reason: 'Enforced',
    message: 'Neutron enforces the policy on the ports of the pods that it selects',
  };
};
