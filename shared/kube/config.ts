/**
 * The address of the API server and our credentials: a kubeconfig, or the service account that the
 * kubelet puts into the pod. Both answer anew at each need, because tokens and CAs are rotated
 * under running programs.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RequestOptions } from 'node:https';
import type { KubeConfig as ClientConfig } from '@kubernetes/client-node/dist/config.js';
import { createRotatedFile } from '../http/rotated-file.ts';
import type { Tunnel } from './proxy.ts';

export type TlsMaterial = {
  ca?: string | Buffer | undefined;
  cert?: string | Buffer | undefined;
  key?: string | Buffer | undefined;
  servername?: string | undefined;
  rejectUnauthorized?: boolean | undefined;
};

export type KubeConfig = {
  /** `https://host:port`, with a path for servers behind one. */
  server: string;
  /** The namespace of the context or of the pod; undefined when it names none. */
  namespace: string | undefined;
  /** Its name in the kubeconfig; undefined in a pod. */
  context?: string | undefined;
  /** Through which each connection goes; undefined: through none. */
  tunnel?: Tunnel | undefined;
  /** Asked for once per connection. @throws when files cannot be read */
  tls: () => Promise<TlsMaterial>;
  /** Asked for once per request. @throws when the credentials cannot be read or made */
  headers: () => Promise<Record<string, string>>;
  /** The server refused the credentials (401): the next `headers` must not come from our cache. */
  expire: () => void;
};

export type ConfigSource = {
  /** Paths as in KUBECONFIG; takes precedence when set. */
  kubeconfig?: string | undefined;
  /** The context of the kubeconfig; default: its current one. */
  context?: string | undefined;
  /**
   * The way through a proxy, for the program that people run; `proxyUrl`: the kubeconfig's. Others
   * refuse such a kubeconfig.
   */
  tunnelTo?: ((server: URL, proxyUrl: string | undefined) => Tunnel | undefined) | undefined;
  /** KUBERNETES_SERVICE_HOST */
  serviceHost?: string | undefined;
  /** KUBERNETES_SERVICE_PORT */
  servicePort?: string | undefined;
  /** Folder with `token`, `ca.crt` and `namespace`. */
  serviceAccountDir?: string | undefined;
};

export const DEFAULT_SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/** @throws when neither a kubeconfig nor a service account is there, or one cannot be read */
export const loadKubeConfig = async (source: ConfigSource): Promise<KubeConfig> => {
  if (source.kubeconfig) return fromKubeconfig(source.kubeconfig, source);
  const { serviceHost, servicePort } = source;
  if (!serviceHost || !servicePort)
    throw new Error(
      'no API server: set KUBECONFIG, or KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT as in a pod',
    );
  const directory = source.serviceAccountDir ?? DEFAULT_SERVICE_ACCOUNT_DIR;
  return fromServiceAccount(serviceHost, servicePort, directory);
};

const fromServiceAccount = async (
  host: string,
  port: string,
  directory: string,
): Promise<KubeConfig> => {
  const token = createRotatedFile(join(directory, 'token'));
  const ca = createRotatedFile(join(directory, 'ca.crt'), { maxAgeMs: 0 });
  await Promise.all([token.read(), ca.read()]);
  const namespace = await createRotatedFile(join(directory, 'namespace'))
    .read()
    .catch(() => undefined);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: namespace?.trim(),
    tls: async () => ({ ca: await ca.read() }),
    headers: async () => ({ authorization: `Bearer ${(await token.read()).trim()}` }),
    expire: () => token.expire(),
  };
};

/**
 * client-node reads files and runs credential plugins each time it is asked (it caches a plugin's
 * token until its end).
 */
const FILLED_MAX_AGE_MS = 5_000;

const fromKubeconfig = async (
  paths: string,
  { context: asked, tunnelTo }: Pick<ConfigSource, 'context' | 'tunnelTo'>,
): Promise<KubeConfig> => {
  // Only this module of the package, and only when needed: the whole package costs 0.4 s and 130 MB
  // (measured).
  const { KubeConfig: Config } = await import('@kubernetes/client-node/dist/config.js');
  const files = [...new Set(paths.split(':'))].filter((path) => path !== '');
  const [first] = files;
  if (first === undefined) throw new Error('KUBECONFIG names no file');
  const config = await loadedFrom(files, () => new Config());
  const context = asked ?? config.getCurrentContext();
  if (asked !== undefined && !config.getContextObject(asked)) {
    const known = config.getContexts().map(({ name }) => name);
    throw new Error(`kubeconfig ${first}: no context ${asked}; there is: ${known.join(', ')}`);
  }
  config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`kubeconfig ${first}: the current context names no cluster`);
  const proxyUrl = cluster.proxyUrl || undefined;
  if (proxyUrl !== undefined && tunnelTo === undefined)
    throw new Error(`kubeconfig ${first}: proxy-url is not supported`);
  let filledAt = -Infinity;
  let filled: RequestOptions = {};
  const fill = async (): Promise<RequestOptions> => {
    if (performance.now() - filledAt < FILLED_MAX_AGE_MS) return filled;
    const fresh: RequestOptions = { headers: {} };
    await config.applyToHTTPSOptions(fresh);
    filled = fresh;
    filledAt = performance.now();
    return filled;
  };
  return {
    server: cluster.server.replace(/\/$/, ''),
    namespace: config.getContextObject(context)?.namespace,
    context,
    tunnel: tunnelTo?.(new URL(cluster.server), proxyUrl),
    tls: async () => {
      const { ca, cert, key, servername, rejectUnauthorized } = await fill();
      return { ca: pem(ca), cert: pem(cert), key: pem(key), servername, rejectUnauthorized };
    },
    headers: async () => {
      const { headers, auth } = await fill();
      const made = new Map(
        Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
      );
      if (auth && !made.has('authorization'))
        made.set('authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
      return Object.fromEntries(made);
    },
    expire: () => {
      filledAt = -Infinity;
    },
  };
};

/**
 * As kubectl has it: files that are not there are left out, and what several have is that of the
 * first. @throws where none is there
 */
const loadedFrom = async (
  files: readonly string[],
  empty: () => ClientConfig,
): Promise<ClientConfig> => {
  const config = empty();
  const missing: unknown[] = [];
  for (const path of files) {
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (!isMissing(error)) throw error;
      missing.push(error);
      return '';
    });
    const other = empty();
    other.loadFromString(text.trim() || '{}');
    other.makePathsAbsolute(dirname(path));
    config.loadFromOptions({
      clusters: merged(config.clusters, other.clusters),
      users: merged(config.users, other.users),
      contexts: merged(config.contexts, other.contexts),
      currentContext: config.currentContext || other.currentContext,
    });
  }
  if (missing.length === files.length) throw missing[0];
  return config;
};

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

type Named = { name: string };
const merged = <T extends Named>(before: readonly T[] | undefined, more: readonly T[]): T[] => [
  ...new Map([...more, ...(before ?? [])].map((one) => [one.name, one])).values(),
];

const pem = (value: unknown): string | Buffer | undefined =>
  typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined;
