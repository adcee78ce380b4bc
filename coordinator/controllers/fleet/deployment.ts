/** The Deployment that a CNFDeployment asks for. Pure. */
import { createHash } from 'node:crypto';
import type { OwnerReference } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import {
  MANAGED_BY,
  PURPOSE_LABEL,
  RENEWED_ANNOTATION,
  ROLL_SET_ANNOTATION,
} from '#shared/names.ts';
import {
  cnfDeploymentResource,
  type CnfDeployment,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import {
  HASH_LABEL,
  RESTARTED_ANNOTATION,
  type FleetDeployment,
  type FleetReplicaSet,
  type PodTemplateText,
} from './apps.ts';
import { durationMs } from './duration.ts';

/** Sets that are kept, with no pods, to go back to. */
const HISTORY = 10;
/** The rest of Kubernetes' own deadline, which only tells; longer than minReadySeconds. */
const SPARE_SECONDS = 600;

/**
 * The template of the spec with what makes a new set of the same: ours, and that of `kubectl
 * rollout restart` on the Deployment.
 */
export const askedTemplate = (
  { metadata, spec, status }: CnfDeployment,
  present: FleetDeployment | undefined,
): PodTemplateText => {
  const { template } = spec;
  const { annotations, ...rest } = template.metadata;
  const there = present?.spec.template.metadata?.annotations;
  const marks = definedOf({
    [RESTARTED_ANNOTATION]: there?.[RESTARTED_ANNOTATION],
    // It stays as long as the set does: without it the same template would be another set.
    [RENEWED_ANNOTATION]: status?.renewal?.pod ?? there?.[RENEWED_ANNOTATION],
    [ROLL_SET_ANNOTATION]: metadata.annotations?.[ROLL_SET_ANNOTATION],
  });
  const all = { ...(typeof annotations === 'object' ? annotations : {}), ...marks };
  const metadataOf = Object.keys(all).length > 0 ? { ...rest, annotations: all } : rest;
  return { ...template, metadata: metadataOf };
};

const definedOf = (texts: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
  );

/** That of a set which was made before: the same hash, so the same ReplicaSet and pods. */
export const templateOfSet = ({ spec }: FleetReplicaSet): PodTemplateText => {
  const { metadata = {}, ...rest } = spec.template;
  const { [HASH_LABEL]: _hash, ...labels } = metadata.labels ?? {};
  return { ...rest, metadata: { ...metadata, labels } };
};

export const templateHash = (template: PodTemplateText): string => hashOf(template);

/**
 * So long both sets are there at least: Kubernetes counts in whole seconds, and would take an old
 * pod for a new one that is just losing its gate again.
 */
const LEAST_SOAK_SECONDS = 3;

/** For how long the pods of both sets stay, seconds. */
export const soakSecondsOf = ({
  soakSeconds,
}: Pick<CnfDeployment['spec'], 'soakSeconds'>): number => Math.max(LEAST_SOAK_SECONDS, soakSeconds);

/** The whole of what is ours in the Deployment. */
export const wantedSpec = ({ spec }: CnfDeployment, template: PodTemplateText): object => ({
  replicas: spec.replicas,
  selector: spec.selector,
  template,
  strategy:
    spec.strategy === 'Recreate'
      ? { type: 'Recreate' }
      : { type: 'RollingUpdate', rollingUpdate: { maxSurge: spec.surge, maxUnavailable: 0 } },
  minReadySeconds: spec.strategy === 'Recreate' ? 0 : soakSecondsOf(spec),
  progressDeadlineSeconds:
    durationMs(spec.progressDeadline) / 1_000 + soakSecondsOf(spec) + SPARE_SECONDS,
  revisionHistoryLimit: HISTORY,
  paused: spec.paused,
});

/** Put in the place of `present`, or created: labels and annotations of others stay; fenced. */
export const deploymentBody = (
  cnf: CnfDeployment,
  spec: object,
  present: FleetDeployment | undefined,
) => {
  const { name, namespace, uid } = cnf.metadata;
  const others = (present?.metadata.ownerReferences ?? []).filter((one) => one.uid !== uid);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      ...(present && {
        uid: present.metadata.uid,
        resourceVersion: present.metadata.resourceVersion,
        annotations: present.metadata.annotations,
        finalizers: present.metadata.finalizers,
      }),
      name,
      namespace,
      labels: {
        ...present?.metadata.labels,
        ...MANAGED_BY,
        [PURPOSE_LABEL]: cnf.spec.template.metadata.labels[PURPOSE_LABEL] ?? '',
      },
      ownerReferences: [...others, ownerOf(cnf)],
    },
    spec,
  };
};

/** It is the controller of its Deployment. */
export const ownerOf = ({ metadata: { name, uid } }: CnfDeployment): OwnerReference => ({
  apiVersion: apiVersionOf(cnfDeploymentResource),
  kind: cnfDeploymentResource.kind,
  name,
  uid,
  controller: true,
});

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/** As a list of pods or sets takes it. */
export const selectorOf = ({ spec }: CnfDeployment): string =>
  Object.entries(spec.selector.matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

export const keyOf = ({ metadata: { namespace, name } }: Pick<CnfDeployment, 'metadata'>): string =>
  `${namespace}/${name}`;

export const placeOf = (key: string): { namespace: string; name: string } => {
  const at = key.indexOf('/');
  return { namespace: key.slice(0, at), name: key.slice(at + 1) };
};
