/** The CustomResourceDefinition of CNFStatus, which is no rule: nobody applies it, and the category `sdewan` leaves it out. */
import { PURPOSE_LABEL } from '#shared/names.ts';
import { cnfStatusResource, cnfStatusSchema } from '#shared/protocol/cnf-status.ts';
import { schemaOf } from './crd.ts';

export const cnfStatusCrd = () => {
  const { group, kind, plural, version } = cnfStatusResource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: 'cnfstatus',
        shortNames: ['cnfst'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: rootSchema() },
        },
      ],
    },
  };
};

const columns = [
  { name: 'Purpose', type: 'string', jsonPath: `.metadata.labels.${PURPOSE_LABEL}` },
  { name: 'Pods', type: 'string', jsonPath: '.status.pods.summary' },
  { name: 'WANs', type: 'string', jsonPath: '.status.wans.summary' },
  { name: 'Tunnels', type: 'string', jsonPath: '.status.tunnels.summary' },
  { name: 'Changed', type: 'date', jsonPath: '.status.appliedTime' },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
];

const rootSchema = () => ({
  type: 'object',
  description: 'How the pods of a CNF are, as their agents tell it.',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: { type: 'object', description: 'Empty.' },
    status: {
      ...schemaOf(cnfStatusSchema, 'CNFStatus.status'),
      description: 'Written by the coordinator.',
    },
  },
});
