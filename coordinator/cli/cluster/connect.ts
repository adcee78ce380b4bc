/** The cluster of a command, as kubectl finds it: flag, KUBECONFIG, ~/.kube/config, or in a pod. */
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import * as z from 'zod';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig, type KubeConfig } from '#shared/kube/config.ts';
import { isForbidden, KubeError } from '#shared/kube/errors.ts';
import { createTunnel, proxyInEnv, type Tunnel } from '#shared/kube/proxy.ts';
import { connectToPod, PortForwardError, type DialedPort } from '#shared/kube/port-forward.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { CannotTellError, type CommandIo, type Given } from '../command.ts';
import { fileProblem, isFileError } from '../files.ts';
import { isAllowed } from '#shared/kube/access.ts';
import { rightsOf, type Lacking } from '../../views/rights.ts';

export type Cluster = {
  client: KubeClient;
  server: string;
  /** That of the context; `default` when it names none. */
  namespace: string;
  /** To a port of a pod's loopback. @throws LackingRightsError, PortForwardError */
  connectToPod: (to: DialedPort, signal: AbortSignal) => Promise<Duplex>;
  /** By which the API server knows the user; undefined: by a certificate, or a password. */
  token: () => Promise<string | undefined>;
};

/** The user lacks rights, and the message names them. */
export class LackingRightsError extends CannotTellError {
  override name = 'LackingRightsError';
  readonly lacking: readonly Lacking[];

  constructor(lacking: readonly Lacking[], cause?: unknown) {
    super(rightsOf(lacking).join('; '), { cause });
    this.lacking = lacking;
  }
}

/** To be thrown for the error of a call that needs the right: names it where it is lacking. */
export const orLacking = (error: unknown, right: Lacking): unknown =>
  isForbidden(error) ? new LackingRightsError([right], error) : error;

/** For a connection, and for each request: a user waits for the answer. */
const TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 4_000;

const BEARER = /^Bearer +(\S+)$/i;

const optionsSchema = z.object({
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
});

export type ConnectDeps = { options: Given['options']; io: CommandIo; timeoutMs?: number };

/**
 * @throws CannotTellError when there is no cluster, it does not answer, or it does not allow what
 * is asked; and what `work` throws
 */
export const withCluster = async <T>(
  { options, io, timeoutMs = TIMEOUT_MS }: ConnectDeps,
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> => {
  const { kubeconfig, context } = optionsSchema.parse(options);
  const config = await configOf(io.env, { kubeconfig, context });
  const client = createKubeClient({
    config,
    userAgent: 'sdewan-cli',
    timeoutMs,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    const { server, namespace = 'default' } = config;
    return await work({
      client,
      server,
      namespace,
      connectToPod: (to, signal) => connected({ client, config }, to, { timeoutMs, signal }),
      token: async () => BEARER.exec((await config.headers())['authorization'] ?? '')?.[1],
    });
  } catch (error) {
    throw told(error, config);
  } finally {
    await client.close();
  }
};

const configOf = async (
  env: CommandIo['env'],
  { kubeconfig, context }: z.infer<typeof optionsSchema>,
): Promise<KubeConfig> => {
  const home = join(homedir(), '.kube/config');
  const given = kubeconfig ?? (env['KUBECONFIG'] || undefined) ?? (await existing(home));
  const {
    KUBERNETES_SERVICE_HOST: serviceHost,
    KUBERNETES_SERVICE_PORT: servicePort,
    SDEWAN_SERVICE_ACCOUNT_DIR: serviceAccountDir,
  } = env;
  if (given === undefined && !serviceHost)
    throw new CannotTellError(
      `no cluster: there is no ${home}, and neither --kubeconfig nor KUBECONFIG names another file`,
    );
  try {
    return await loadKubeConfig({
      kubeconfig: given,
      context,
      tunnelTo: (server, proxyUrl) => tunnelBy(proxyUrl ?? proxyInEnv(server, env)),
      serviceHost,
      servicePort,
      serviceAccountDir,
    });
  } catch (error) {
    const words = isFileError(error)
      ? `kubeconfig ${error.path ?? given}: ${fileProblem(error)}`
      : messageOf(error);
    throw new CannotTellError(`no cluster: ${words}`, { cause: error });
  }
};

const tunnelBy = (proxy: string | undefined): Tunnel | undefined =>
  proxy === undefined ? undefined : createTunnel(proxy);

const PORT_FORWARD = { group: '', resource: 'pods', subresource: 'portforward' };
/** By WebSocket it is a GET, which newer API servers allow only with the right to create. */
const VERBS = ['get', 'create'] as const;

const connected = async (
  { client, config }: { client: KubeClient; config: KubeConfig },
  to: DialedPort,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<Duplex> => {
  try {
    return await connectToPod(config, to, limits);
  } catch (error) {
    if (!(error instanceof PortForwardError)) throw error;
    const { namespace, pod: name } = to;
    const allowed = await Promise.all(
      VERBS.map((verb) =>
        isAllowed(client, { ...PORT_FORWARD, verb, namespace, name }, limits.signal),
      ),
    );
    const lacking = VERBS.filter((_, at) => !allowed[at]);
    if (lacking.length === 0) throw error;
    throw new LackingRightsError(
      lacking.map((verb) => ({ verb, resource: 'pods/portforward', namespace })),
      error,
    );
  }
};

const existing = async (file: string): Promise<string | undefined> => {
  try {
    await access(file);
    return file;
  } catch {
    return undefined;
  }
};

/** For the person who asked; what is no error of the API server stays as it is. */
const told = (error: unknown, { server, context }: KubeConfig): unknown => {
  if (!(error instanceof KubeError)) return error;
  const where = context === undefined ? server : `${server} (context ${context})`;
  const words = WORDS[error.status];
  return words === undefined
    ? error
    : new CannotTellError(`${where} ${words}: ${messageOf(error)}`, { cause: error });
};

/** By HTTP status; 0: no answer came. */
const WORDS: Readonly<Record<number, string>> = {
  0: 'does not answer',
  401: 'refuses the credentials',
  403: 'does not allow it',
};
