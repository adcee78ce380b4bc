/**
 * Puts the agent into a CNF's pod template as a native sidecar. Pure: the webhook, the CLI and the tests use this one
 * function. Injecting twice gives the same as once; whatever is not ours passes through.
 */
import { AGENT_CONTAINER, PURPOSE_ENV, PURPOSE_LABEL } from '../names.ts';
import type { InjectOptions } from './options.ts';
import type { Container, EnvVar, PodTemplate } from './pod.ts';
import {
  livenessProbe,
  readinessProbe,
  startupProbe,
  STATE_DIRECTORY,
  STATE_DIRECTORY_ENV,
} from './state-directory.ts';
import { agentVolumes, isAgentVolume, MOUNTS, mountsOf } from './volumes.ts';

/** @throws Error when the template has no purpose label: there is nothing that the agent could serve. */
export const inject = (template: PodTemplate, options: InjectOptions): PodTemplate => {
  const purpose = template.metadata?.labels?.[PURPOSE_LABEL];
  if (purpose === undefined || purpose === '') {
    throw new Error(`the pod template has no label ${PURPOSE_LABEL}: it names the CNF's rules`);
  }
  const clean = uninject(template);
  return {
    ...clean,
    spec: {
      ...clean.spec,
      initContainers: [agentContainer(purpose, options), ...(clean.spec.initContainers ?? [])],
      volumes: [...(clean.spec.volumes ?? []), ...agentVolumes(options)],
    },
  };
};

/** Takes out what `inject` put in. A template without an agent comes back equal. */
export const uninject = (template: PodTemplate): PodTemplate => {
  const { initContainers = [], volumes = [], ...spec } = template.spec;
  const otherContainers = initContainers.filter(({ name }) => name !== AGENT_CONTAINER);
  const otherVolumes = volumes.filter(({ name }) => !isAgentVolume(name));
  return {
    ...template,
    spec: {
      ...spec,
      ...(otherContainers.length > 0 && { initContainers: otherContainers }),
      ...(otherVolumes.length > 0 && { volumes: otherVolumes }),
    },
  };
};

const agentContainer = (purpose: string, options: InjectOptions): Container => ({
  name: AGENT_CONTAINER,
  image: options.image,
  restartPolicy: 'Always',
  env: environment(purpose, options),
  startupProbe,
  livenessProbe,
  readinessProbe,
  resources: options.resources,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65_532,
    runAsGroup: 65_532,
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    privileged: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
  volumeMounts: mountsOf(),
});

const field = (name: string, fieldPath: string): EnvVar => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});

const environment = (purpose: string, options: InjectOptions): EnvVar[] => [
  { name: PURPOSE_ENV, value: purpose },
  field('SDEWAN_NAMESPACE', 'metadata.namespace'),
  field('SDEWAN_POD_NAME', 'metadata.name'),
  { name: 'SDEWAN_DRIVER', value: options.driver },
  { name: 'SDEWAN_OPENWRT_URL', value: options.openwrtUrl },
  { name: 'SDEWAN_OPENWRT_USERNAME_FILE', value: `${MOUNTS.login}/username` },
  { name: 'SDEWAN_OPENWRT_PASSWORD_FILE', value: `${MOUNTS.login}/password` },
  { name: 'SDEWAN_COORDINATOR_URL', value: options.coordinatorUrl },
  { name: 'SDEWAN_COORDINATOR_CA_FILE', value: `${MOUNTS.identity}/coordinator-ca.crt` },
  { name: 'SDEWAN_COORDINATOR_TOKEN_FILE', value: `${MOUNTS.identity}/token` },
  { name: 'SDEWAN_NETWORKS_FILE', value: `${MOUNTS.identity}/nfn-network` },
  { name: 'SDEWAN_SERVICE_ACCOUNT_DIR', value: MOUNTS.serviceAccount },
  { name: STATE_DIRECTORY_ENV, value: STATE_DIRECTORY },
  { name: 'SDEWAN_LOG_LEVEL', value: options.logLevel },
];
