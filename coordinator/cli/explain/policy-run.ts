import type { KubeClient } from '#shared/kube/client.ts';
import { POLICY_UID_LABEL } from '#shared/names.ts';
import { addressGroupResource } from '#shared/resources/other-kinds/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { PolicyShares } from '../../controllers/network-policy/policy-shares.ts';
import {
  multiNetworkPolicies,
  networkPolicies,
  watchedPods,
} from '../../controllers/network-policy/kept.ts';
import { createLook, listAll } from '../cluster/lists.ts';
import { rightsOf } from '../../views/rights.ts';
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import { print, type Format } from '../../views/output/format.ts';
import { eventsOf } from './events.ts';
import { policyExplanationOf, policyExplanationText } from './policy.ts';
import { oneNamed, type PolicyTarget } from './target.ts';

type Asked = {
  client: KubeClient;
  /** Undefined: all. */
  namespace: string | undefined;
  output: Format;
  io: CommandIo;
  signal: AbortSignal;
};

/**
 * Members of groups and names of pods are left out where they may not be seen. @throws UsageError,
 * LackingRightsError, CannotTellError, KubeError
 */
export const explainPolicy = async (
  { policy: kind, name }: PolicyTarget,
  { client, namespace, output, io, signal }: Asked,
): Promise<ExitCode> => {
  const reader = { client, signal };
  const look = createLook(reader);
  const type = (kind === 'NetworkPolicy' ? networkPolicies : multiNetworkPolicies)(
    new PolicyShares(),
  );
  const found = oneNamed(await listAll(reader, type, { namespace }), { kind, name });
  const labelSelector = `${POLICY_UID_LABEL}=${found.metadata.uid}`;
  const [enforcements, groups, pods, events] = await Promise.all([
    listAll(reader, policyEnforcementResource, { labelSelector }),
    look.list(addressGroupResource),
    look.list(watchedPods),
    eventsOf(found, client, { io, signal }),
  ]);
  const view = policyExplanationOf({
    policy: found.policy,
    enforcements: enforcements.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    groups,
    pods: pods?.map(({ pod }) => pod),
    events,
  });
  const table = (): string => policyExplanationText(view, Date.now());
  print(io, output, { data: view, table });
  for (const line of rightsOf(look.lacking)) io.say(line);
  return view.enforced ? EXIT.done : EXIT.no;
};
