/** The policies in files. What is not whole is said with its place, as of rules. */
import type { ResourceType } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { POLICY_KINDS, type Policy, type PolicyKind } from '#shared/policy/network-policy.ts';
import { PolicyShares } from '../../policy/policy-shares.ts';
import { multiNetworkPolicies, networkPolicies, type WatchedPolicy } from '../../policy/watched.ts';
import { objectIn, problemsOf } from '../apply/files.ts';
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import type { Located } from '../manifest/positions.ts';
import type { ManifestSource } from '../manifest/read.ts';

const isPolicyKind = (kind: unknown): kind is PolicyKind =>
  POLICY_KINDS.some((known) => known === kind);

const isPolicy = ({ value }: Located): boolean =>
  typeof value === 'object' && value !== null && 'kind' in value && isPolicyKind(value.kind);

/** Policies apart from all else. */
export const splitPolicies = (
  sources: readonly ManifestSource[],
): { policies: ManifestSource[]; others: ManifestSource[] } => {
  const only = (wanted: boolean): ManifestSource[] =>
    sources
      .map(({ file, objects }) => ({
        file,
        objects: objects.filter((one) => isPolicy(one) === wanted),
      }))
      .filter(({ objects }) => objects.length > 0);
  return { policies: only(true), others: only(false) };
};

/** `code`: of the command, which ends with it. `namespace`: of policies that name none. */
export const policiesIn = (
  sources: readonly ManifestSource[],
  io: CommandIo,
  namespace: string,
): { policies: Policy[] } | { code: ExitCode } => {
  const problems: string[] = [];
  const shares = new PolicyShares();
  const types: Readonly<Record<PolicyKind, ResourceType<WatchedPolicy>>> = {
    NetworkPolicy: networkPolicies(shares),
    MultiNetworkPolicy: multiNetworkPolicies(shares),
  };
  const policies = sources.flatMap((source) =>
    source.objects.flatMap((object): Policy[] => {
      const problem = problemsOf(source, object, problems);
      const data = objectIn(object, namespace, problem);
      if (!data || !isPolicyKind(data.kind)) return [];
      const type = types[data.kind];
      if (data.apiVersion !== apiVersionOf(type))
        return problem('apiVersion', `must be ${apiVersionOf(type)}`);
      const { policy } = type.schema.parse(data);
      if ('unread' in policy) {
        const { reason, message } = policy.unread;
        if (reason === 'TooLarge') return problem('spec', message);
        const [field = '', ...words] = message.split(': ');
        return problem(field, words.join(': '));
      }
      return [policy];
    }),
  );
  for (const line of problems) io.say(line);
  return problems.length === 0 ? { policies } : { code: EXIT.no };
};
