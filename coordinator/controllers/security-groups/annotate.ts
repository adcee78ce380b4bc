/** Annotation `policy-groups` of the pods that have ports: which of our groups each port has. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isInvalid, isOutdated } from '#shared/kube/errors.ts';
import { POLICY_GROUPS_ANNOTATION } from '#shared/names.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { podResource } from '../../sources/workload.ts';
import { groupsMark, type WatchedPod } from '../network-policy/kept.ts';
import type { PortClaims } from './claims.ts';
import type { PresentInNeutron } from './present.ts';

/** `cause`: as the end of a sentence. */
export type Unwritten = { pod: WatchedPod; cause: string };

/** The groups are on the port before the annotation says so. Returns pods not to be written. */
export const annotate = async (
  watched: readonly WatchedPod[],
  { claims, present: there }: { claims: PortClaims; present: PresentInNeutron },
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<Unwritten[]> => {
  const texts = groupsTexts(claims, there);
  const unwritten: Unwritten[] = [];
  for (const one of watched) {
    const { pod, inNeutron, metadata } = one;
    const text = texts.get(pod.uid);
    if ((text && groupsMark(text)) === inNeutron.groups) continue;
    const { namespace, name, uid } = metadata;
    const annotations = { [POLICY_GROUPS_ANNOTATION]: text ?? null };
    const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
    try {
      await client.patch(podResource, { namespace, name }, { patch, answer: 'metadata', signal });
    } catch (error) {
      if (isForbidden(error))
        unwritten.push({ pod: one, cause: 'bind ClusterRole sdewan-neutron to it' });
      // Its own annotations leave no room for ours.
      else if (isInvalid(error)) unwritten.push({ pod: one, cause: messageOf(error) });
      // Another pod of that name, or none.
      else if (!isOutdated(error)) throw error;
    }
  }
  return unwritten;
};

/** What the annotation says, by the pod's uid. */
const groupsTexts = (
  claims: PortClaims,
  { groups, ports }: PresentInNeutron,
): ReadonlyMap<string, string> => {
  const ofPod = Map.groupBy(claims.ports, ({ pod }) => pod);
  const ours = ({ id }: { id: string }) => ({
    port: id,
    groups: (ports.get(id)?.security_groups ?? []).filter((one) => groups.has(one)).sort(),
  });
  return new Map([...ofPod].map(([uid, those]) => [uid, JSON.stringify(those.map(ours))]));
};
