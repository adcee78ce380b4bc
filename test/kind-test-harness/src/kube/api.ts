/**
 * What tests ask the API server themselves, with admin rights: reads and watches cost a hundredth
 * of a kubectl.
 */
import { createKubeClient, type KubeClient } from './client.ts';
import { readKubeconfig } from './kubeconfig.ts';
import type { KubeObject } from './objects.ts';
import { watchList, type WatchHandlers } from './watch.ts';

export type ClusterApi = {
  /**
   * GET of a path as `/api/v1/namespaces/x/pods`; undefined where there is no such object or kind.
   * @throws KubeError
   */
  find: <T>(path: string) => Promise<T | undefined>;
  /**
   * Follows a list until the cluster is stopped; resolves when all that was there has been handed
   * on. A watch that breaks is opened again by itself.
   */
  watch: <T extends KubeObject>(path: string, handlers: WatchHandlers<T>) => Promise<void>;
};

/** Connects at the first call. */
export const createClusterApi = (
  kubeconfig: string,
): { api: ClusterApi; close: () => Promise<void> } => {
  const ended = new AbortController();
  let connecting: Promise<KubeClient> | undefined;
  const connect = (): Promise<KubeClient> =>
    (connecting ??= readKubeconfig(kubeconfig).then(createKubeClient));
  return {
    api: {
      find: async (path) => await (await connect()).find(path),
      watch: async (path, handlers) => {
        const client = await connect();
        await watchList(path, handlers, { client, onError: () => {}, signal: ended.signal });
      },
    },
    close: async () => {
      ended.abort();
      await (await connecting)?.close();
    },
  };
};
