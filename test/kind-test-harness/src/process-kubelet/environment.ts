/**
 * A container's environment as a kubelet makes it. Pure but for reading ConfigMaps and Secrets
 * through `sources`.
 */
import type {
  ConfigMap,
  Container,
  EnvFromSource,
  EnvVar,
  KeySelector,
  Pod,
  Secret,
} from '../kube/objects.ts';

/** The objects of the pod's namespace; `undefined` when there is none of that name. */
export type ObjectSources = {
  configMap: (name: string) => Promise<ConfigMap | undefined>;
  secret: (name: string) => Promise<Secret | undefined>;
};

export type PodFacts = {
  podIP: string;
  hostIP: string;
  nodeName: string;
  /** What every container finds in its environment: the API server's address. */
  environment: Readonly<Record<string, string>>;
};

/** The container can't be made from what there is now; the kubelet tries again. */
export class ContainerConfigError extends Error {
  override name = 'ContainerConfigError';
}

/**
 * Without the image's own. @throws ContainerConfigError when something is missing that isn't
 * optional.
 */
export const buildEnvironment = async (
  pod: Pod,
  container: Container,
  facts: PodFacts,
  sources: ObjectSources,
): Promise<Record<string, string>> => {
  const environment: Record<string, string> = { ...facts.environment };
  for (const source of container.envFrom ?? []) {
    Object.assign(environment, await readAll(source, sources));
  }
  for (const variable of container.env ?? []) {
    const value = variable.valueFrom
      ? await readReference(variable.name, variable.valueFrom, sources, (path) =>
          readField(pod, path, facts),
        )
      : expandVariables(variable.value ?? '', environment);
    if (value !== undefined) environment[variable.name] = value;
  }
  return environment;
};

/** `$(NAME)` becomes its value, `$$` a dollar; what isn't known stays as it is. */
export const expandVariables = (
  text: string,
  environment: Readonly<Record<string, string>>,
): string =>
  text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (found, name: string | undefined) =>
    name === undefined ? '$' : (environment[name] ?? found),
  );

/** The value of a downward-API field. @throws ContainerConfigError when there is no such field. */
export const readField = (pod: Pod, fieldPath: string, facts: PodFacts): string => {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath);
  if (keyed) {
    const [, map, key = ''] = keyed;
    return (map === 'labels' ? pod.metadata.labels : pod.metadata.annotations)?.[key] ?? '';
  }
  const read = FIELDS[fieldPath];
  if (!read) throw new ContainerConfigError(`unsupported fieldPath: ${fieldPath}`);
  return read(pod, facts);
};

/** `key="value"` lines, as kubelets write all labels or annotations into a volume. */
const formatMap = (map: Readonly<Record<string, string>> = {}): string =>
  Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');

const FIELDS: Readonly<Record<string, (pod: Pod, facts: PodFacts) => string>> = {
  'metadata.name': (pod) => pod.metadata.name,
  'metadata.namespace': (pod) => pod.metadata.namespace,
  'metadata.uid': (pod) => pod.metadata.uid,
  'metadata.labels': (pod) => formatMap(pod.metadata.labels),
  'metadata.annotations': (pod) => formatMap(pod.metadata.annotations),
  'spec.nodeName': (_, facts) => facts.nodeName,
  'spec.serviceAccountName': (pod) => pod.spec.serviceAccountName ?? 'default',
  'status.hostIP': (_, facts) => facts.hostIP,
  'status.hostIPs': (_, facts) => facts.hostIP,
  'status.podIP': (_, facts) => facts.podIP,
  'status.podIPs': (_, facts) => facts.podIP,
};

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString();
const decodeAll = (data: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));

const readAll = async (
  { prefix = '', configMapRef, secretRef }: EnvFromSource,
  sources: ObjectSources,
): Promise<Record<string, string>> => {
  let data: Record<string, string> = {};
  if (configMapRef) {
    const found = await sources.configMap(configMapRef.name);
    if (!found) requireOptional(configMapRef, `configmap "${configMapRef.name}" not found`);
    data = found?.data ?? {};
  }
  if (secretRef) {
    const found = await sources.secret(secretRef.name);
    if (!found) requireOptional(secretRef, `secret "${secretRef.name}" not found`);
    data = decodeAll(found?.data);
  }
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [prefix + key, value]));
};

const readReference = async (
  name: string,
  from: NonNullable<EnvVar['valueFrom']>,
  sources: ObjectSources,
  field: (fieldPath: string) => string,
): Promise<string | undefined> => {
  if (from.fieldRef) return field(from.fieldRef.fieldPath);
  if (from.configMapKeyRef) return await readConfigMapKey(from.configMapKeyRef, sources);
  if (from.secretKeyRef) return await readSecretKey(from.secretKeyRef, sources);
  throw new ContainerConfigError(`env ${name}: this kubelet has no value of that kind`);
};

const readConfigMapKey = async (
  selector: KeySelector,
  sources: ObjectSources,
): Promise<string | undefined> => {
  const found = await sources.configMap(selector.name);
  const value = found?.data?.[selector.key];
  if (value === undefined) requireOptional(selector, describeMissing('configmap', selector, found));
  return value;
};

const readSecretKey = async (
  selector: KeySelector,
  sources: ObjectSources,
): Promise<string | undefined> => {
  const found = await sources.secret(selector.name);
  const value = found?.data?.[selector.key];
  if (value === undefined) requireOptional(selector, describeMissing('secret', selector, found));
  return value === undefined ? undefined : decode(value);
};

const describeMissing = (kind: string, { name, key }: KeySelector, found: unknown): string =>
  found ? `couldn't find key ${key} in ${kind} ${name}` : `${kind} "${name}" not found`;

const requireOptional = ({ optional }: { optional?: boolean }, message: string): void => {
  if (optional !== true) throw new ContainerConfigError(message);
};
