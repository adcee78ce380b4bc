/**
 * What keeps addresses for the next pod: a StatefulSet those of each of its ordinals, a Deployment,
 * that of a CNFDeployment too, those of its only pod, where it ends one before it makes the next.
 */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { find } from '#shared/kube/owned.ts';
import { KEEP_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { NetworkPort, NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';
import { own } from '#shared/util/own.ts';
import { shortened } from '#shared/util/shortened.ts';
import {
  controllerFactsOf,
  deployments,
  replicaSets,
  statefulSets,
  type OwnerRef,
} from '../../sources/workload.ts';

export type Keeper = NonNullable<NetworkPortSpec['claim']['keeper']>;

/** What a pod says of it. */
export type Keep = { text: string; controller: OwnerRef | undefined };

type Annotations = Readonly<Record<string, string>>;

/** Undefined: it asks for none. `controller`: of the pod. */
export const keepIn = (
  annotations: Annotations,
  controller: OwnerRef | undefined,
): Keep | undefined => {
  const text = keepText(annotations);
  return text === undefined ? undefined : { text, controller };
};

const keepText = (annotations: Annotations): string | undefined => {
  const text = shortened(own(annotations, KEEP_ADDRESSES_ANNOTATION), 32);
  return text === 'false' ? undefined : text;
};

const templateSchema = z.looseObject({
  metadata: z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() }).nullish(),
});
const specSchema = z.looseObject({
  replicas: z.int().nullish(),
  ordinals: z.looseObject({ start: z.int().nullish() }).nullish(),
  strategy: z.union([z.string(), z.looseObject({ type: z.string().nullish() })]).nullish(),
  template: templateSchema,
});
const keeperSchema = objectSchema.extend({ spec: specSchema });
type KeeperObject = z.infer<typeof keeperSchema>;

const reviewedSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().default('') }),
  spec: specSchema,
});
type Reviewed = z.infer<typeof reviewedSchema>;

/** Why the pods of a workload or CNFDeployment cannot keep addresses, if they are to. */
export const keepProblem = (workload: unknown): string | undefined => {
  const { data } = reviewedSchema.safeParse(workload);
  return data && problemOf(data);
};

const problemOf = ({ kind, metadata, spec }: Reviewed): string | undefined => {
  const text = keepOf(spec);
  return text === undefined
    ? undefined
    : (textProblem(text) ?? ownerProblem(`${kind} ${metadata.name}`, kind, spec));
};

const textProblem = (text: string): string | undefined =>
  text === 'true'
    ? undefined
    : `annotation ${KEEP_ADDRESSES_ANNOTATION}: ${JSON.stringify(text)} must be "true" or "false"`;

const ownerProblem = (
  what: string,
  kind: string,
  { replicas, strategy }: z.infer<typeof specSchema>,
): string | undefined => {
  if (kind === 'StatefulSet') return undefined;
  if (kind !== deployments.kind && kind !== cnfDeploymentResource.kind) return noKeeper(what);
  const type = (typeof strategy === 'string' ? strategy : strategy?.type) ?? 'RollingUpdate';
  if (type === 'Recreate' && (replicas ?? 1) <= 1) return undefined;
  return `annotation ${KEEP_ADDRESSES_ANNOTATION}: ${what} must have one replica and strategy Recreate, it has ${replicas ?? 1} and ${type}: for an address that moves between pods that run side by side use a VirtualAddress`;
};

const noKeeper = (what: string): string =>
  `annotation ${KEEP_ADDRESSES_ANNOTATION}: ${what} keeps no addresses, a StatefulSet or a Deployment does`;

/** Whether what keeps an address has a next pod for it. `keeper`: undefined where it is gone. */
export const isKeptBy = (
  { spec: { claim } }: Pick<NetworkPort, 'spec'>,
  keeper: KeeperObject | undefined,
): boolean => {
  if (keeper === undefined || keeper.metadata.deletionTimestamp !== undefined) return false;
  const { kind, metadata, spec } = keeper;
  if (keepOf(spec) === undefined || problemOf(keeper) !== undefined) return false;
  const replicas = spec.replicas ?? 1;
  if (kind !== 'StatefulSet') return replicas > 0;
  const ordinal = ordinalOf(metadata.name, claim.pod);
  if (ordinal === undefined) return false;
  const above = ordinal - (spec.ordinals?.start ?? 0);
  return above >= 0 && above < replicas;
};

const keepOf = ({ template }: z.infer<typeof specSchema>): string | undefined =>
  keepText(template.metadata?.annotations ?? {});

const ordinalOf = (set: string, pod: string): number | undefined => {
  const digits = pod.startsWith(`${set}-`) ? pod.slice(set.length + 1) : '';
  return /^(0|[1-9]\d{0,8})$/.test(digits) ? Number(digits) : undefined;
};

export type Keepers = {
  /** Undefined: its addresses are not kept. @throws KubeError */
  of: (
    pod: KubeObject & { keep: Keep | undefined },
    signal: AbortSignal,
  ) => Promise<Keeper | { problem: string } | undefined>;
  /** Whether the addresses are kept while no pod has them. @throws KubeError */
  keeps: (port: NetworkPort, signal: AbortSignal) => Promise<boolean>;
};

const kinds = [deployments, statefulSets, replicaSets];
const KEEPING = ['Deployment', 'StatefulSet'] as const;
/** A pod can name any owner, and the API server takes `x/scale` for a part of an object. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export const createKeepers = (client: Pick<KubeClient, 'get'>): Keepers => {
  /** Undefined: there is none of that uid any more. */
  const read = async (
    { kind, name, uid }: Pick<OwnerRef, 'kind' | 'name' | 'uid'>,
    namespace: string,
    signal: AbortSignal,
  ): Promise<KeeperObject | undefined> => {
    const resource = kinds.find((one) => one.kind === kind);
    if (resource === undefined || !OBJECT_NAME.test(name)) return undefined;
    const kept: ResourceType<KeeperObject> = { ...resource, schema: keeperSchema };
    const object = await find(client, kept, { namespace, name }, { signal });
    return object?.metadata.uid === uid ? object : undefined;
  };

  /** The Deployment of a ReplicaSet. */
  const ownerOf = async (
    ref: OwnerRef,
    namespace: string,
    signal: AbortSignal,
  ): Promise<OwnerRef> => {
    const set = isOfApps(ref) && ref.kind === replicaSets.kind;
    const object = set ? await read(ref, namespace, signal) : undefined;
    return (object && controllerFactsOf(object).controller) ?? ref;
  };

  return {
    of: async ({ keep, metadata: { name, namespace } }, signal) => {
      if (keep === undefined) return undefined;
      const { controller, text } = keep;
      const wrong = textProblem(text);
      if (wrong !== undefined) return { problem: wrong };
      if (controller === undefined) return { problem: noKeeper(`pod ${name}`) };
      const { uid, ...ref } = await ownerOf(controller, namespace, signal);
      const what = `${ref.kind} ${ref.name}`;
      const kind = isOfApps(ref) ? KEEPING.find((one) => one === ref.kind) : undefined;
      if (kind === undefined) return { problem: noKeeper(what) };
      const object = await read({ ...ref, uid }, namespace, signal);
      if (object === undefined) return { problem: `${what}, which owns it, is not there` };
      const problem = podProblem(what, name, object);
      return problem === undefined ? { kind, name: ref.name, uid } : { problem };
    },
    keeps: async (port, signal) => {
      const { keeper, namespace } = port.spec.claim;
      return keeper !== undefined && isKeptBy(port, await read(keeper, namespace, signal));
    },
  };
};

const podProblem = (
  what: string,
  pod: string,
  { kind, metadata, spec }: KeeperObject,
): string | undefined =>
  kind === 'StatefulSet' && ordinalOf(metadata.name, pod) === undefined
    ? `pod ${pod} has no ordinal of ${what}`
    : ownerProblem(what, kind, spec);

const isOfApps = ({ apiVersion }: Pick<OwnerRef, 'apiVersion'>): boolean =>
  apiVersion === 'apps/v1';
