/**
 * Writes one pod's status: one request at a time, the newest status wins, failures are tried again.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { KubeError, type KubeClient } from '../kube/client.ts';
import type { Pod, PodStatus } from '../kube/objects.ts';

const RETRY_MS = 500;

export type StatusWriter = {
  publish: (status: PodStatus) => void;
  /**
   * What the API server has. Conditions of ours that others have changed are written again, as by a
   * kubelet: the controller-manager takes Ready off the pods of a node that it has not heard of,
   * and never gives it back.
   */
  observe: (status: PodStatus | undefined) => void;
  /** Resolves when the status published last is written, or can't be since the pod is gone. */
  flush: () => Promise<void>;
};

export type StatusWriterDeps = {
  client: KubeClient;
  onError: (error: unknown) => void;
  signal: AbortSignal;
};

export const createStatusWriter = (pod: Pod, deps: StatusWriterDeps): StatusWriter => {
  const { namespace, name, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  let written = '';
  let published: PodStatus | undefined;
  let wanted: PodStatus | undefined;
  let writing: Promise<void> | undefined;

  const write = async (status: PodStatus): Promise<void> => {
    try {
      // The uid is a precondition: a status must never reach the pod's successor of the same name.
      await deps.client.patch(path, { metadata: { uid }, status }, 'strategic-merge');
    } catch (error) {
      if (isGone(error)) return;
      deps.onError(error);
      await sleep(RETRY_MS, undefined, { signal: deps.signal }).catch(() => {});
      wanted ??= status;
    }
  };

  const writeAll = async (): Promise<void> => {
    while (wanted && !deps.signal.aborted) {
      const status = wanted;
      wanted = undefined;
      await write(status);
    }
    writing = undefined;
  };

  return {
    publish: (status) => {
      const text = JSON.stringify(status);
      if (text === written) return;
      written = text;
      published = status;
      wanted = status;
      writing ??= writeAll();
    },
    observe: (status) => {
      if (writing || !published || sameConditions(published, status)) return;
      wanted = published;
      writing = writeAll();
    },
    flush: async () => {
      await writing;
    },
  };
};

const sameConditions = (ours: PodStatus, theirs: PodStatus | undefined): boolean =>
  (ours.conditions ?? []).every(({ type, status }) =>
    theirs?.conditions?.some((other) => other.type === type && other.status === status),
  );

const isGone = (error: unknown): boolean =>
  error instanceof KubeError &&
  (error.status === 404 || (error.status === 409 && error.message.includes('UID in precondition')));
