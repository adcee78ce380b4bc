/**
 * What a pod asks for and processes of this machine can't have. Said once, as an Event: never
 * silently left out.
 */
import type { Container, Pod } from '../kube/objects.ts';

const POD_FIELDS = [
  'activeDeadlineSeconds',
  'dnsConfig',
  'ephemeralContainers',
  'hostAliases',
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'hostUsers',
  'hostname',
  'resourceClaims',
  'resources',
  'runtimeClassName',
  'securityContext',
  'shareProcessNamespace',
  'subdomain',
];
const CONTAINER_FIELDS = [
  'resizePolicy',
  'restartPolicyRules',
  'securityContext',
  'stdin',
  'tty',
  'volumeDevices',
];

/** Paths of the fields, in the order of the spec; empty for a pod that gets all it asks for. */
export const listUnsupported = ({ spec }: Pod): string[] => [
  ...POD_FIELDS.filter((field) => isGiven(fieldOf(spec, field))).map((field) => `spec.${field}`),
  ...[...(spec.initContainers ?? []), ...spec.containers].flatMap((container) =>
    listOfContainer(container, spec.volumes ?? []).map((field) => `${container.name}.${field}`),
  ),
];

const fieldOf = (object: object, field: string): unknown =>
  new Map<string, unknown>(Object.entries(object)).get(field);

/** `{}` and `false` are what a field is without being given. */
const isGiven = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  !(typeof value === 'object' && Object.keys(value).length === 0);

const listOfContainer = (
  container: Container,
  volumes: NonNullable<Pod['spec']['volumes']>,
): string[] => {
  const resources = fieldOf(container, 'resources');
  const hasLimits =
    typeof resources === 'object' && resources !== null && isGiven(fieldOf(resources, 'limits'));
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
  const writable = new Set(
    volumes.filter(({ emptyDir, hostPath }) => emptyDir ?? hostPath).map(({ name }) => name),
  );
  return [
    ...(container.command ? ['command (the registered process stands for the image)'] : []),
    ...CONTAINER_FIELDS.filter((field) => isGiven(fieldOf(container, field))),
    ...(hasLimits ? ['resources.limits'] : []),
    ...probes.filter((probe) => container[probe]?.grpc).map((probe) => `${probe}.grpc`),
    ...(container.volumeMounts ?? [])
      .filter((mount) => mount.readOnly && writable.has(mount.name))
      .map((mount) => `volumeMounts[${mount.name}].readOnly`),
  ];
};
