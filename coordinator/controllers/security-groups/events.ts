/**
 * Events on policies and pods: that Neutron enforces a policy, that it does not and why, and why a
 * port is left alone or waits. What is so is told once; what has become so again is counted, so
 * that the last Event of an object is the truth. While Neutron fails, each cause is told once.
 * Events live for an hour, so what is wrong for longer is told again.
 */
import type { KubeObject } from '#shared/kube/objects.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { POLICY_GROUPS_ANNOTATION } from '#shared/names.ts';
import { few } from '#shared/util/few.ts';
import type { AnyPolicy, WatchedPod } from '../network-policy/kept.ts';
import type { PolicySources } from '../network-policy/sources.ts';
import type { Unwritten } from './annotate.ts';
import type { PortClaims } from './claims.ts';
import type { Members } from './members.ts';
import type { OutageCause } from '../../neutron/outage.ts';
import { ownSelectorOf } from './policy-parts.ts';
import type { PresentInNeutron } from './present.ts';
import type { WantedResult } from './wanted.ts';

type Brought = {
  policies: readonly AnyPolicy[];
  result: WantedResult;
  claims: PortClaims;
  present: PresentInNeutron;
  unwritten: readonly Unwritten[];
};
/** `members`: by the ports that pods name. */
type Failing = { policies: readonly AnyPolicy[]; members: Members; cause: OutageCause };
type Said = Omit<RecordedEvent, 'object' | 'once'>;

export type AnnouncerOptions = {
  policySources: Pick<PolicySources, 'policy' | 'podsWithPorts'>;
  record: (event: RecordedEvent) => void;
  clock: Pick<Clock, 'monotonic'>;
};

/** After how long a warning that is still true is told again. */
const TELL_AGAIN_MS = 30 * 60_000;

export type NeutronAnnouncer = {
  brought: (brought: Brought) => void;
  /** Neutron cannot be brought to what policies ask for. */
  failing: (failing: Failing) => void;
};

export const createAnnouncer = ({
  policySources,
  record,
  clock,
}: AnnouncerOptions): NeutronAnnouncer => {
  type Told = { text: string; at: number };
  /** By uid of a policy or a pod. */
  let said = new Map<string, Told>();
  /** The same, of each cause since Neutron began to fail. */
  const saidOfOutage = new Map<string, Map<string, Told>>();

  const isNews = (event: Said, before: Told | undefined): boolean =>
    before?.text !== textOf(event) ||
    (event.type === 'Warning' && clock.monotonic() >= before.at + TELL_AGAIN_MS);

  const tell = (object: KubeObject, event: Said): Told => {
    const { uid } = object.metadata;
    record({ object, ...event, ...(!said.has(uid) && { once: true }) });
    const told = { text: textOf(event), at: clock.monotonic() };
    said.set(uid, told);
    return told;
  };

  return {
    brought: ({ policies, result, claims, present, unwritten }) => {
      saidOfOutage.clear();
      const told = new Set<string>();
      const tellOf = (object: KubeObject | undefined, event: Said | undefined): void => {
        if (object === undefined || event === undefined) return;
        const { uid } = object.metadata;
        told.add(uid);
        if (isNews(event, said.get(uid))) tell(object, event);
      };
      for (const { uid } of policies)
        tellOf(policySources.policy(uid), saidOf(uid, result, present));
      const pods = new Map(
        policySources.podsWithPorts().map((watched) => [watched.pod.uid, watched]),
      );
      for (const { pod, reason, message } of claims.unguarded)
        tellOf(pods.get(pod.uid), {
          type: 'Warning',
          reason,
          message: `no NetworkPolicy holds for it in Neutron: ${message}`,
        });
      for (const { pod, cause } of unwritten)
        if (!told.has(pod.metadata.uid))
          tellOf(pod, {
            type: 'Warning',
            reason: 'AnnotationNotWritten',
            message: `the coordinator cannot write annotation ${POLICY_GROUPS_ANNOTATION}, which says what security groups its ports in Neutron have: ${cause}`,
          });
      said = new Map([...said].filter(([uid]) => told.has(uid)));
    },
    failing: ({ policies, members, cause }) => {
      const tellOnce = (object: KubeObject | undefined, event: Said): void => {
        if (object === undefined) return;
        const { uid } = object.metadata;
        const causes = saidOfOutage.getOrInsert(uid, new Map());
        const text = textOf(event);
        if (isNews(event, causes.get(text))) causes.set(text, tell(object, event));
      };
      for (const policy of policies) {
        const pods = ownSelectorOf(policy);
        if (pods && members.of(pods).ports.length > 0)
          tellOnce(policySources.policy(policy.uid), {
            type: 'Warning',
            reason: 'NeutronUnavailable',
            message: `Neutron does not follow the policy: ${cause.message}; what it had of the policy stays in force, and it is tried again`,
          });
      }
      const pods = policySources.podsWithPorts();
      for (const pod of pods)
        if (waits(pod))
          tellOnce(pod, {
            type: 'Warning',
            reason: 'NeutronUnavailable',
            message: `its ports in Neutron wait for their security groups: ${cause.message}`,
          });
      const there = new Set([...policies, ...pods.map(({ pod }) => pod)].map(({ uid }) => uid));
      for (const uid of [...said.keys(), ...saidOfOutage.keys()])
        if (!there.has(uid)) {
          said.delete(uid);
          saidOfOutage.delete(uid);
        }
    },
  };
};

const textOf = ({ reason, message }: Said): string => `${reason} ${message}`;

/** It names ports, whose groups are not known yet. */
const waits = ({ inNeutron: { ports, groups }, pod: { isFinished } }: WatchedPod): boolean =>
  ports !== undefined && groups === undefined && !isFinished;

/** Undefined: the policy selects no port of ours. */
const saidOf = (
  uid: string,
  { refused, enforced, crowded }: WantedResult,
  present: PresentInNeutron,
): Said | undefined => {
  const refusal = refused.get(uid);
  if (refusal)
    return {
      type: 'Warning',
      reason: 'NotEnforced',
      message: `Neutron does not enforce the policy as it is now (${refusal.reason}): ${refusal.message}`,
    };
  const message = crowded.get(uid);
  if (message !== undefined)
    return { type: 'Warning', reason: 'NotEnforced', message: `in Neutron: ${message}` };
  const ports = enforced.get(uid) ?? [];
  if (ports.length === 0) return undefined;
  const open = ports.filter((id) =>
    present.ports.get(id)?.security_groups.some((group) => !present.groups.has(group)),
  );
  if (open.length > 0)
    return {
      type: 'Warning',
      reason: 'NotEnforced',
      message: `in Neutron, security groups of others on ports of its pods may let more pass than the policy (OtherGroups): ${few(open)}`,
    };
  return {
    type: 'Normal',
    reason: 'Enforced',
    message: 'Neutron enforces the policy on the ports of the pods that it selects',
  };
};
