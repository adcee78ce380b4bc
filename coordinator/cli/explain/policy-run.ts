import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { resourceName } from '#shared/kube/path.ts';
import { POLICY_UID_LABEL } from '#shared/names.ts';
import { addressGroupResource } from '#shared/resources/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/policy-enforcement.ts';
import { PolicyShares } from '../../policy/policy-shares.ts';
import { multiNetworkPolicies, networkPolicies, watchedPods } from '../../policy/watched.ts';
import { orLacking } from '../cluster/connect.ts';
import { rightsOf, type Lacking } from '../cluster/facts.ts';
import { CannotTellError, EXIT, type CommandIo, type ExitCode } from '../command.ts';
import { formatted, type Format } from '../output/format.ts';
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

const PAGE_SIZE = 500;

/** Members of groups and names of pods are left out where they may not be seen. @throws UsageError, LackingRightsError, CannotTellError, KubeError */
export const explainPolicy = async (
  { policy: kind, name }: PolicyTarget,
  { client, namespace, output, io, signal }: Asked,
): Promise<ExitCode> => {
  const lacking: Lacking[] = [];
  const listed = async <T extends KubeObject>(
    type: ResourceType<T>,
    selection: { namespace?: string | undefined; labelSelector?: string } = {},
  ): Promise<T[]> => {
    try {
      return (await client.list(type, { ...selection, pageSize: PAGE_SIZE, signal })).items;
    } catch (error) {
      if (isNotFound(error))
        throw new CannotTellError(`this cluster does not know ${type.kind}`, { cause: error });
      throw orLacking(error, { verb: 'list', resource: resourceName(type), ...where(selection) });
    }
  };
  const seen = async <T extends KubeObject>(type: ResourceType<T>): Promise<T[] | undefined> => {
    try {
      return (await client.list(type, { pageSize: PAGE_SIZE, signal })).items;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      lacking.push({ verb: 'list', resource: resourceName(type), namespace: undefined });
      return undefined;
    }
  };
  const type = (kind === 'NetworkPolicy' ? networkPolicies : multiNetworkPolicies)(
    new PolicyShares(),
  );
  const found = oneNamed(await listed(type, { namespace }), { kind, name });
  const labelSelector = `${POLICY_UID_LABEL}=${found.metadata.uid}`;
  const [enforcements, groups, pods, events] = await Promise.all([
    listed(policyEnforcementResource, { labelSelector }),
    seen(addressGroupResource),
    seen(watchedPods),
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
  io.out(formatted(output, { data: view, table }));
  for (const line of rightsOf(lacking)) io.say(line);
  return view.enforced ? EXIT.done : EXIT.no;
};

const where = ({ namespace }: { namespace?: string | undefined }) => ({ namespace });
