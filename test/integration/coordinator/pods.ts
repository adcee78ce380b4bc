/** Pods that exist only on the API server: no scheduler or kubelet touches them, and their status is what a test writes. */
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { AGENT_CONTAINER, PURPOSE_ENV, PURPOSE_LABEL, REPORT_AUDIENCE } from '#shared/names.ts';
import type { World } from './world.ts';

export const podResource: ResourceType = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };

export type PodSpec = {
  name: string;
  purpose?: string;
  /** Default: the purpose; null: the pod is made without the agent. */
  agentServes?: string | null;
  namespace?: string;
  finalizers?: string[];
};

export type PodState = {
  ready?: boolean;
  agent?: 'running' | 'waiting';
  restarts?: number;
  phase?: 'Pending' | 'Running' | 'Failed' | 'Succeeded';
};

export const createPod = async (
  { client, namespace: home }: World,
  spec: PodSpec,
): Promise<KubeObject> => {
  const { name, purpose = 'cnf-1', namespace = home } = spec;
  const serves = spec.agentServes === undefined ? purpose : spec.agentServes;
  const agent = {
    name: AGENT_CONTAINER,
    image: 'none',
    restartPolicy: 'Always',
    env: [{ name: PURPOSE_ENV, value: serves }],
  };
  return client.create(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { [PURPOSE_LABEL]: purpose },
      ...(spec.finalizers && { finalizers: spec.finalizers }),
    },
    spec: {
      schedulerName: 'nobody',
      containers: [{ name: 'sdewan', image: 'none' }],
      ...(serves !== null && { initContainers: [agent] }),
    },
  });
};

export const setPodState = async (
  { client }: World,
  pod: KubeObject,
  state: PodState,
): Promise<void> => {
  const { ready = true, agent = 'running', restarts = 0, phase = 'Running' } = state;
  const containerState =
    agent === 'running'
      ? { running: { startedAt: null } }
      : { waiting: { reason: 'PodInitializing' } };
  const status = {
    phase,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    initContainerStatuses: [
      {
        name: AGENT_CONTAINER,
        image: 'none',
        imageID: '',
        ready: agent === 'running',
        restartCount: restarts,
        state: containerState,
      },
    ],
    containerStatuses: [
      { name: 'sdewan', image: 'none', imageID: '', ready, restartCount: 0, state: containerState },
    ],
  };
  const { namespace, name } = pod.metadata;
  await client.patch(
    podResource,
    { namespace, name },
    { patch: { type: 'merge', body: { status } }, subresource: 'status' },
  );
};

/** At once, as if its node had confirmed it. */
export const removePod = async ({ client }: World, pod: KubeObject): Promise<void> => {
  const { namespace, name } = pod.metadata;
  await client.delete(podResource, { namespace, name }, { gracePeriodSeconds: 0 });
};

export type TokenOptions = { audience?: string; bound?: boolean };

export const tokenFor = async (
  { cluster }: World,
  pod: KubeObject,
  { audience = REPORT_AUDIENCE, bound = true }: TokenOptions = {},
): Promise<string> => {
  const { namespace, name } = pod.metadata;
  const binding = bound ? ['--bound-object-kind', 'Pod', '--bound-object-name', name] : [];
  const { stdout } = await cluster.kubectl([
    'create',
    'token',
    'default',
    '--namespace',
    namespace,
    '--audience',
    audience,
    ...binding,
  ]);
  return stdout.trim();
};
