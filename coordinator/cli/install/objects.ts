/** The objects of an installation, with the images that a user names. Pure. */
import * as z from 'zod';
import type { Manifest } from '../../../deploy/installation/kustomization.ts';

export type Images = { image?: string | undefined; agentImage?: string | undefined };

/** What others need comes first; webhooks last, so that they block nothing before they work. */
const ORDER = [
  'Namespace',
  'CustomResourceDefinition',
  'ServiceAccount',
  'Role',
  'ClusterRole',
  'RoleBinding',
  'ClusterRoleBinding',
  'ConfigMap',
  'Service',
  'Deployment',
  'PodDisruptionBudget',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
];

/** @throws for a kind that has no place in the order */
export const inOrderOfInstallation = (manifests: readonly Manifest[]): Manifest[] => {
  const unknown = manifests.find(({ kind }) => !ORDER.includes(kind));
  if (unknown) throw new Error(`kind ${unknown.kind} has no place in the order of an installation`);
  return manifests.toSorted((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind));
};

const containerSchema = z.looseObject({
  image: z.string(),
  env: z.array(z.looseObject({ name: z.string() })).default([]),
});
const deploymentSchema = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({ spec: z.looseObject({ containers: z.tuple([containerSchema]) }) }),
  }),
});

const AGENT_IMAGE = 'SDEWAN_AGENT_IMAGE';

export const withImages = (manifest: Manifest, { image, agentImage }: Images): Manifest => {
  if (manifest.kind !== 'Deployment') return manifest;
  const { spec } = deploymentSchema.parse(manifest);
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const env = container.env.filter(({ name }) => name !== AGENT_IMAGE || agentImage === undefined);
  const changed = {
    ...container,
    image: image ?? container.image,
    env: agentImage === undefined ? env : [...env, { name: AGENT_IMAGE, value: agentImage }],
  };
  const template = { ...spec.template, spec: { ...pod, containers: [changed] } };
  return { ...manifest, spec: { ...spec, template } };
};
