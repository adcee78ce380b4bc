/**
 * Puts the agent into a CNF's pod template as a native sidecar. Pure: the webhook, the CLI and the
 * tests use this one function. Injecting twice gives the same as once; whatever is not ours passes
 * through.
 */
import { AGENT_CONTAINER, PURPOSE_LABEL } from '../names.ts';
import { readOptions } from './annotations.ts';
import { environmentOf, METRICS_PORT, METRICS_PORT_NAME } from './environment.ts';
import type { InjectOptions } from './options.ts';
import { mountOwnLogin, ownLoginProblems, unmountOwnLogin } from './own-login.ts';
import type { Container, PodTemplate } from './pod.ts';
import { livenessProbe, readinessProbe, startupProbeOf } from './state-directory.ts';
import {
  agentVolumes,
  isAgentVolume,
  mountsOf,
  withEvictable,
  withoutEvictable,
} from './volumes.ts';
import { isOnHostNetwork } from './warnings.ts';

/** @throws Error when the template has no purpose label: the agent would have no rules. */
export const inject = (template: PodTemplate, options: InjectOptions): PodTemplate => {
  const purpose = template.metadata?.labels?.[PURPOSE_LABEL];
  if (purpose === undefined || purpose === '') {
    throw new Error(
      `the pod template has no label ${PURPOSE_LABEL}, which names the purpose of the CNF`,
    );
  }
  const clean = uninject(template);
  const spec = options.ownLogin ? mountOwnLogin(clean.spec, options) : clean.spec;
  return {
    ...clean,
    metadata: {
      ...clean.metadata,
      annotations: withEvictable(clean.metadata?.annotations ?? {}, options),
    },
    spec: {
      ...spec,
      initContainers: [
        agentContainer(purpose, options, isOnHostNetwork(spec) ? {} : METRICS_PORTS),
        ...(spec.initContainers ?? []),
      ],
      volumes: [...(spec.volumes ?? []), ...agentVolumes(options)],
    },
  };
};

/**
 * The same with what the template's own labels and annotations say. `problems`: why it cannot be
 * injected, one line each.
 * @throws Error when the template has no purpose label
 */
export const injectAnnotated = (
  template: PodTemplate,
  defaults: InjectOptions,
): { injected: PodTemplate } | { problems: string[] } => {
  const read = readOptions(template, defaults);
  if ('problems' in read) return read;
  const problems = ownLoginProblems(uninject(template).spec, read.options);
  return problems.length > 0 ? { problems } : { injected: inject(template, read.options) };
};

export const isInjected = ({ spec }: PodTemplate): boolean =>
  spec.initContainers?.some(({ name }) => name === AGENT_CONTAINER) ?? false;

/** Takes out what `inject` put in. A template without an agent comes back equal. */
export const uninject = (template: PodTemplate): PodTemplate => {
  const { initContainers = [], volumes = [], ...spec } = template.spec;
  const otherContainers = initContainers.filter(({ name }) => name !== AGENT_CONTAINER);
  const otherVolumes = volumes.filter(({ name }) => !isAgentVolume(name));
  return {
    ...template,
    ...(template.metadata && { metadata: withoutOurs(template.metadata) }),
    spec: {
      ...spec,
      containers: spec.containers.map(unmountOwnLogin),
      ...(otherContainers.length > 0 && { initContainers: otherContainers }),
      ...(otherVolumes.length > 0 && { volumes: otherVolumes }),
    },
  };
};

type Metadata = NonNullable<PodTemplate['metadata']>;

const withoutOurs = ({ annotations, ...rest }: Metadata): Metadata => {
  if (!annotations) return rest;
  const others = withoutEvictable(annotations);
  const isEmptied = others !== annotations && Object.keys(others).length === 0;
  return isEmptied ? rest : { ...rest, annotations: others };
};

/**
 * By this name a PodMonitor finds it. On the network of the node each port would be the node's,
 * which the API server lets one pod have.
 */
const METRICS_PORTS = {
  ports: [{ name: METRICS_PORT_NAME, containerPort: METRICS_PORT, protocol: 'TCP' }],
};

const agentContainer = (
  purpose: string,
  options: InjectOptions,
  ports: Partial<typeof METRICS_PORTS>,
): Container => ({
  name: AGENT_CONTAINER,
  image: options.image,
  restartPolicy: 'Always',
  // Why an agent ended is in the pod's status, also when its log is gone.
  terminationMessagePolicy: 'FallbackToLogsOnError',
  ...ports,
  env: environmentOf(purpose, options),
  startupProbe: startupProbeOf(options),
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
  volumeMounts: mountsOf(options),
});
