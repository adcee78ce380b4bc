/** Which namespace a command is for, and which CNF is meant by a name. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import type { Given } from '../command.ts';
import { namespaces } from '../../sources/workload.ts';
import { nearestOf } from '../nearest.ts';
import { NotThereError, UsageError } from '../../views/usage-error.ts';
import { cnfsIn, type VisibleCnf, type ClusterFacts } from '../../views/cluster-facts.ts';

const scopeSchema = z.object({
  namespace: z.string().optional(),
  allNamespaces: z.boolean().default(false),
});

/** Undefined: all. @throws UsageError */
export const namespaceOf = (options: Given['options'], usual: string): string | undefined => {
  const { namespace, allNamespaces } = scopeSchema.parse(options);
  if (allNamespaces && namespace !== undefined)
    throw new UsageError('--namespace and --all-namespaces exclude each other');
  return allNamespaces ? undefined : (namespace ?? usual);
};

/** @throws NotThereError, which lists those that are there; UsageError for several of the name */
export const cnfNamed = (
  facts: ClusterFacts,
  name: string,
  namespace: string | undefined,
): VisibleCnf => {
  const all = cnfsIn(facts);
  const found = all.filter(({ purpose }) => purpose === name);
  const [one] = found;
  if (one && found.length === 1) return one;
  if (one)
    throw new UsageError(
      `several CNFs have the name ${name}, in namespaces ${found.map((cnf) => cnf.namespace).join(', ')}: specify one with --namespace`,
    );
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`;
  if (all.length === 0)
    throw new NotThereError(
      `no CNF has the name ${name}${place}, and there is none; ${namespace === undefined ? 'a CNF is a Deployment whose pod template has the label sdewanPurpose' : '--all-namespaces looks in the others'}`,
    );
  const nearest = nearestOf(name, all, ({ purpose }) => purpose).slice(0, MAX_NAMED);
  const names = nearest.map((cnf) =>
    namespace === undefined ? `${cnf.namespace}/${cnf.purpose}` : cnf.purpose,
  );
  const more = all.length - nearest.length;
  throw new NotThereError(
    `no CNF has the name ${name}${place}; there is: ${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`,
  );
};

const MAX_NAMED = 10;

/** As far as the user may see it. @throws NotThereError, KubeError */
export const namespaceIsThere = async (
  client: Pick<KubeClient, 'get'>,
  name: string,
  signal: AbortSignal,
): Promise<void> => {
  try {
    await client.get(namespaces, { name }, { signal });
  } catch (error) {
    if (isNotFound(error)) throw new NotThereError(`there is no namespace ${name}`);
    if (!isForbidden(error)) throw error;
  }
};
