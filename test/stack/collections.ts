/** Where the API server keeps what tests look at. Which kinds of rules there are it says itself. */
import * as z from 'zod';
import type { ClusterApi } from 'kind-test-harness';

const GROUP = '/apis/batch.sdewan.akraino.org/v1alpha1';

const resourceList = z.object({
  resources: z.array(
    z.object({ name: z.string(), kind: z.string(), categories: z.array(z.string()).optional() }),
  ),
});

/** Collections of rules and pods alike. */
export type ObservedObject = {
  metadata: {
    name: string;
    uid: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
  };
  status?: unknown;
};

/** What `kubectl get sdewan` lists: one collection for each kind that is served now. */
export const ruleCollections = async (
  api: ClusterApi,
  namespace: string,
): Promise<{ kind: string; path: string }[]> => {
  const found = await api.find(GROUP);
  if (found === undefined) return [];
  return resourceList
    .parse(found)
    .resources.filter(({ categories }) => categories?.includes('sdewan'))
    .map(({ name, kind }) => ({ kind, path: `${GROUP}/namespaces/${namespace}/${name}` }));
};

export const podsPath = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;
