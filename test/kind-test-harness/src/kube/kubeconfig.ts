/** Kubeconfig files: writing our own, reading whatever a person has. */
import { readFile, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';

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

type OwnKubeconfig = {
  'current-context': string;
  clusters: [{ name: string; cluster: { server: string; 'certificate-authority-data'?: string } }];
  users: [
    {
      name: string;
      user: {
        token?: string | undefined;
        'client-certificate-data'?: string;
        'client-key-data'?: string;
      };
    },
  ];
};

const NAME = 'kind-test-harness';

/**
 * JSON is YAML, and quotes everything right. Readable by this user alone: it holds the admin's
 * token.
 */
export const formatKubeconfig = (connection: Connection): string =>
  `${JSON.stringify(ownKubeconfig(connection), undefined, 2)}\n`;

const ownKubeconfig = (connection: Connection): OwnKubeconfig & Record<string, unknown> => {
  const { server, ca, token, cert, key } = connection;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: NAME,
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
    contexts: [{ name: NAME, context: { cluster: NAME, user: 'admin' } }],
    'current-context': NAME,
  };
};

export const writeKubeconfig = async (path: string, connection: Connection): Promise<void> => {
  await writeFile(path, formatKubeconfig(connection), { mode: 0o600 });
};

/**
 * The current context of a kubeconfig, with whatever way of authentication it uses.
 * @throws when it can't be read or names no cluster.
 */
export const readKubeconfig = async (path: string): Promise<Connection> =>
  ownConnection(await readFile(path, 'utf8')) ?? (await anyConnection(path));

/** The parts of a text that `formatKubeconfig` made; undefined for any other. */
const ownConnection = (text: string): Connection | undefined => {
  if (!text.startsWith('{')) return undefined;
  const config: OwnKubeconfig = JSON.parse(text);
  if (config['current-context'] !== NAME) return undefined;
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  const decoded = (base64?: string) => base64 && Buffer.from(base64, 'base64').toString();
  return {
    server: cluster.server,
    ca: decoded(cluster['certificate-authority-data']),
    token: user.token,
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  };
};

const anyConnection = async (path: string): Promise<Connection> => {
  // Loaded only for clusters that are not our own: it costs half a second.
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`${path} has no current cluster`);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const pem = (value: unknown) =>
    value instanceof Buffer || typeof value === 'string' ? String(value) : undefined;
  const authorization = new Map(Object.entries(options.headers ?? {})).get('Authorization');
  return {
    server: cluster.server.replace(/\/$/, ''),
    ca: pem(options.ca),
    cert: pem(options.cert),
    key: pem(options.key),
    token: authorization === undefined ? undefined : String(authorization).replace(/^Bearer /, ''),
    insecure: cluster.skipTLSVerify,
  };
};
