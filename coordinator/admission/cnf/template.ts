/** Pods and pod templates in a review: labels, annotations and what injection touches. */
import * as z from 'zod';
import { labelSelectorSchema, type LabelSelector } from '#shared/kube/selector.ts';
import type { PodTemplate } from '#shared/inject/pod.ts';

const stringMap = z.record(z.string(), z.string());
const mountSchema = z.looseObject({
  name: z.string(),
  mountPath: z.string(),
  subPath: z.string().exactOptional(),
  readOnly: z.boolean().exactOptional(),
});
const envSchema = z.looseObject({
  name: z.string(),
  value: z.string().exactOptional(),
  valueFrom: z.looseObject({}).exactOptional(),
});
const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string().exactOptional(),
  env: z.array(envSchema).exactOptional(),
  volumeMounts: z.array(mountSchema).exactOptional(),
  restartPolicy: z.string().exactOptional(),
});
const templateSchema: z.ZodType<PodTemplate> = z.looseObject({
  metadata: z
    .looseObject({ labels: stringMap.exactOptional(), annotations: stringMap.exactOptional() })
    .exactOptional(),
  spec: z.looseObject({
    containers: z.array(containerSchema),
    initContainers: z.array(containerSchema).exactOptional(),
    volumes: z.array(z.looseObject({ name: z.string() })).exactOptional(),
  }),
});

const workloadSchema = z.looseObject({
  kind: z.string(),
  spec: z.looseObject({ selector: labelSelectorSchema.optional(), template: templateSchema }),
});

/** The template of a Pod, or a pod template itself. @throws ZodError when it is neither */
export const templateOf = (object: unknown): PodTemplate => templateSchema.parse(object);

/**
 * The selector of a Deployment or CNFDeployment, which adopt what they select.
 * @throws ZodError when it is no workload
 */
export const adoptingSelectorIn = (workload: unknown): LabelSelector | undefined => {
  const { kind, spec } = workloadSchema.parse(workload);
  return /^(CNF)?Deployment$/.test(kind) ? spec.selector : undefined;
};

/** The template of a Deployment, StatefulSet or DaemonSet. @throws ZodError when it is none */
export const templateIn = (workload: unknown): PodTemplate =>
  workloadSchema.parse(workload).spec.template;
