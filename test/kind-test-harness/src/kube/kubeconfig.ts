/** Kubeconfig files: writing our own, reading whatever a person has. */
import { writeFile } from 'node:fs/promises';

/** What it takes to speak to an API server. */
export type Connection = {
  /** `https://host:port`, with a path where a proxy is in between. */
  server: string;
  /** PEM; absent: the machine's own trust. */
  ca?: string | undefined;
  token?: string | undefined;
  /** PEM pair of a client certificate. */
  cert?: string | undefined;
  key?: string | undefined;
  insecure?: boolean | undefined;
};

/** JSON is YAML, and quotes everything right. Readable by this user alone: it holds the admin's token. */
export const formatKubeconfig = (connection: Connection): string => {
  const { server, ca, token, cert, key } = connection;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'kind-test-harness',
        cluster: { server, ...(ca && { 'certificate-authority-data': base64(ca) }) },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          token,
          ...(cert && { 'client-certificate-data': base64(cert) }),
          ...(key && { 'client-key-data': base64(key) }),
        },
      },
    ],
    contexts: [
      { name: 'kind-test-harness', context: { cluster: 'kind-test-harness', user: 'admin' } },
    ],
    'current-context': 'kind-test-harness',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
};

export const writeKubeconfig = async (path: string, connection: Connection): Promise<void> => {
  await writeFile(path, formatKubeconfig(connection), { mode: 0o600 });
};

/**
 * The current context of a kubeconfig, with whatever way of authentication it uses.
 * @throws when it can't be read or names no cluster.
 */
export const readKubeconfig = async (path: string): Promise<Connection> => {
  // Loaded only for clusters that are not our own: it costs half a second.
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${path} has no current cluster`);
  const options: { ca?: unknown; cert?: unknown; key?: unknown; headers?: Record<string, string> } =
    {};
  await config.applyToHTTPSOptions(options);
  const pem = (value: unknown) =>
    value instanceof Buffer || typeof value === 'string' ? String(value) : undefined;
  const authorization = options.headers?.['Authorization'];
  return {
    server: cluster.server.replace(/\/$/, ''),
    ca: pem(options.ca),
    cert: pem(options.cert),
    key: pem(options.key),
    token: authorization?.replace(/^Bearer /, ''),
    insecure: cluster.skipTLSVerify,
  };
};
