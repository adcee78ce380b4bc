/**
 * What Helm runs before it uninstalls: `sdewan uninstall`, from the image of the coordinator.
 * Without it Helm would take the coordinator away while rules wait for it to remove their
 * finalizers, and they would stay for ever. It has rights of its own, for as long as it runs.
 */
import { resources } from '#shared/resources/resources.ts';
import * as z from 'zod';
import {
  clusterKinds,
  coordinatorKinds,
  deploymentKinds,
  keptKinds,
  namespaceKinds,
  definitionKinds,
  unlabelledKinds,
  webhookKinds,
} from '../../../coordinator/cli/uninstall/found.ts';
import { podResource, replicaSets } from '../../../coordinator/sources/workload.ts';
import type { Manifest } from '../../installation/kustomization.ts';
import { rightsOn } from '../roles.ts';
import { createTemplate, withScalar, withValue } from './template.ts';
import { deploymentOf } from './values.ts';

const NAME = 'sdewan-uninstall';
const RBAC = 'rbac.authorization.k8s.io';

/** What `sdewan uninstall` asks for. It touches what bears our labels; RBAC knows no labels. */
const rules = (): object[] => [
  ...rightsOn(
    [...webhookKinds, ...deploymentKinds, ...keptKinds, ...clusterKinds, ...coordinatorKinds],
    ['list', 'delete'],
  ),
  ...rightsOn(definitionKinds, ['list', 'delete', 'patch']),
  ...rightsOn([...namespaceKinds, podResource], ['list']),
  ...rightsOn([replicaSets], ['get']),
  {
    apiGroups: [...new Set(resources.map(({ group }) => group))],
    resources: ['*'],
    verbs: ['list', 'delete', 'patch'],
  },
  // Otherwise a policy lets no other user take the finalizers of those off that stay.
  {
    apiGroups: ['permissions.sdewan.akraino.org'],
    resources: ['buckettypes'],
    verbs: ['release'],
  },
];

const namedRules = (): object[] =>
  unlabelledKinds.map(([kind, name]) => ({
    apiGroups: [kind.group],
    resources: [kind.plural],
    resourceNames: [name],
    verbs: ['list', 'delete'],
  }));

const containerSchema = z.looseObject({ securityContext: z.looseObject({}) });

/** `deployment`: whose image and place it has. */
export const uninstallHook = (deployment: Manifest): string => {
  const { value, line, text } = createTemplate();
  const namespace = value('.Release.Namespace');
  const metadata = (weight: number, placed: boolean): object => ({
    name: NAME,
    ...(placed && { namespace }),
    annotations: {
      'helm.sh/hook': 'pre-delete',
      'helm.sh/hook-weight': String(weight),
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded,hook-failed',
      'helm.sh/hook-output-log-policy': 'hook-succeeded,hook-failed',
    },
  });
  const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace }];
  const bound = (kind: 'Role' | 'ClusterRole', granted: object[]): object[] => [
    {
      apiVersion: `${RBAC}/v1`,
      kind,
      metadata: metadata(0, kind === 'Role'),
      rules: granted,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: `${kind}Binding`,
      metadata: metadata(1, kind === 'Role'),
      roleRef: { apiGroup: RBAC, kind, name: NAME },
      subjects,
    },
  ];
  const [container] = deploymentOf(deployment).spec.template.spec.containers;
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: metadata(2, true),
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          serviceAccountName: NAME,
          restartPolicy: 'Never',
          imagePullSecrets: line(withValue('imagePullSecrets')),
          priorityClassName: line(withScalar('priorityClassName')),
          nodeSelector: line(withValue('nodeSelector')),
          tolerations: line(withValue('tolerations')),
          containers: [
            {
              name: 'uninstall',
              image: value('include "sdewan.image" .Values.image'),
              imagePullPolicy: line(withScalar('image.pullPolicy')),
              command: ['/usr/local/bin/node', '/app/sdewan.mjs'],
              args: line(({ indent, key }) => [
                `${indent}${key}:`,
                `${indent}  - uninstall`,
                `${indent}  - --yes`,
                `${indent}  - --keep-namespace={{ .Release.Namespace }}`,
                `${indent}  - --timeout={{ int64 .Values.uninstall.timeoutSeconds }}`,
                `{{- if eq .Values.uninstall.rules "refuse" }}`,
                `${indent}  - --unless-rules`,
                '{{- else }}',
                `${indent}  - --keep-rules`,
                '{{- end }}',
              ]),
              env: [
                {
                  name: 'SDEWAN_SERVICE_ACCOUNT_DIR',
                  value: '/var/run/secrets/kubernetes.io/serviceaccount',
                },
              ],
              resources: { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '256Mi' } },
              securityContext: containerSchema.parse(container).securityContext,
            },
          ],
        },
      },
    },
  };
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(0, true) };
  const objects = [account, ...bound('ClusterRole', rules()), ...bound('Role', namedRules()), job];
  return objects.map(text).join('---\n');
};
