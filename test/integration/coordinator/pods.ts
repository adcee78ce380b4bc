/**
 * Pods that exist only on the API server: no scheduler or kubelet touches them, and their status is
 * what a test writes.
 */
import { createPrivateKey, sign } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import { resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { AGENT_CONTAINER, PURPOSE_ENV, PURPOSE_LABEL, REPORT_AUDIENCE } from '#shared/names.ts';
import type { Fixture } from './fixture.ts';

export const podResource = resourceV1('', 'pods', 'Pod');

export type PodSpec = {
  name: string;
  purpose?: string;
  /** Default: the purpose; null: the pod is made without the agent. */
  agentServes?: string | null;
  namespace?: string;
  finalizers?: string[];
  /**
   * Default: unscheduled. Controllers of the cluster end a terminating pod within 20 s if it is
   * unscheduled, and within 40 to 60 s if its node does not exist (PodGC), so a test in which a pod
   * is slow to end names one.
   */
  node?: string;
};

type PodKey = { namespace: string; name: string };

export type PodState = {
  ready?: boolean;
  agent?: 'running' | 'waiting';
  restarts?: number;
  /** States of the containers, wall-clock milliseconds; default: the kubelet has given none. */
  startedAt?: number;
  phase?: 'Pending' | 'Running' | 'Failed' | 'Succeeded';
};

export const createPod = async (
  { client, namespace: home }: Fixture,
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
      schedulerName: 'none',
      ...(spec.node && { nodeName: spec.node }),
      containers: [{ name: 'sdewan', image: 'none' }],
      ...(serves !== null && { initContainers: [agent] }),
    },
  });
};

/** As Kubernetes writes times. */
const secondsOf = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

export const setPodState = async (
  { client }: Pick<Fixture, 'client'>,
  pod: { metadata: PodKey },
  state: PodState,
): Promise<void> => {
  const { ready = true, agent = 'running', restarts = 0, startedAt, phase = 'Running' } = state;
  const time = startedAt === undefined ? null : secondsOf(startedAt);
  const containerState =
    agent === 'running'
      ? { running: { startedAt: time } }
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

/** A pod that runs, ready, as kubelets write it. */
export const createRunningPod = async (fixture: Fixture, spec: PodSpec): Promise<KubeObject> => {
  const pod = await createPod(fixture, spec);
  await setPodState(fixture, pod, {});
  return pod;
};

/** As `kubectl label`; null takes it away. */
export const relabelPod = async (
  { client }: Fixture,
  pod: KubeObject,
  purpose: string | null,
): Promise<void> => {
  const { namespace, name } = pod.metadata;
  const body = { metadata: { labels: { [PURPOSE_LABEL]: purpose } } };
  await client.patch(podResource, { namespace, name }, { patch: { type: 'merge', body } });
};

/** Removes the finalizers of a pod. */
export const unholdPod = async ({ client }: Fixture, pod: KubeObject): Promise<void> => {
  const { namespace, name } = pod.metadata;
  const body = { metadata: { finalizers: null } };
  await client.patch(podResource, { namespace, name }, { patch: { type: 'merge', body } });
};

/** At once, as if its node had confirmed it. */
export const removePod = async ({ client }: Fixture, pod: KubeObject): Promise<void> => {
  const { namespace, name } = pod.metadata;
  await client.delete(podResource, { namespace, name }, { gracePeriodSeconds: 0 });
};

export type TokenOptions = { audience?: string; bound?: boolean };

export const tokenFor = async (
  { cluster }: Pick<Fixture, 'cluster'>,
  pod: { metadata: PodKey },
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

/**
 * A true token of the pod that ended an hour ago, signed with the cluster's own key: the API server
 * gives none shorter than 10 min.
 */
export const expiredTokenFor = async (fixture: Fixture, pod: KubeObject): Promise<string> => {
  const [header = '', payload = ''] = (await tokenFor(fixture, pod)).split('.');
  const claims = z
    .looseObject({ exp: z.number(), iat: z.number(), nbf: z.number() })
    .parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
  const hourAgo = Math.floor(Date.now() / 1_000) - 3_600;
  const past = { ...claims, iat: hourAgo - 600, nbf: hourAgo - 600, exp: hourAgo };
  const text = `${header}.${Buffer.from(JSON.stringify(past)).toString('base64url')}`;
  const key = createPrivateKey(await readFile(await signingKeyOf(fixture), 'utf8'));
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
};

const signingKeyOf = async ({ cluster }: Fixture): Promise<string> => {
  const [directory = ''] = Object.values(cluster.env);
  const files = await readdir(directory, { recursive: true });
  const file = files.find((name) => basename(name) === 'service-account.key');
  if (file === undefined) throw new Error(`no service-account.key below ${directory}`);
  return join(directory, file);
};
