/** Manifests and waiting for the tests of the real node. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, ContainerTarget } from 'kind-test-harness';

/** Serves its host name on port 8080, and a readiness that comes a second after the start. */
export const SERVE = `
  const started = Date.now();
  require('node:http').createServer((request, response) => {
    if (request.url === '/ready' && Date.now() - started < 1000) response.statusCode = 503;
    response.end(require('node:os').hostname());
  }).listen(8080);
  process.on('SIGTERM', () => process.exit(0));
`;
export const SLEEP = 'trap "exit 0" TERM; while :; do sleep 0.2; done';

/** Strict in the way that the agent's container is. */
export const RESTRICTED = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export type Scope = { cluster: Cluster; namespace: string };

export const apply = async ({ cluster, namespace }: Scope, ...objects: object[]): Promise<void> => {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  await cluster.kubectl(['-n', namespace, 'apply', '-f', '-'], { stdin: JSON.stringify(list) });
};

export const pod = (name: string, spec: object, annotations: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name }, annotations },
  spec: { terminationGracePeriodSeconds: 2, ...spec },
});

export const service = (name: string, port: number, targetPort: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port, targetPort }] },
});

export const waitReady = async (
  { cluster, namespace }: Scope,
  ...names: string[]
): Promise<void> => {
  const pods = names.map((name) => `pod/${name}`);
  await cluster.kubectl([
    '-n',
    namespace,
    'wait',
    '--for=condition=Ready',
    '--timeout=500s',
    ...pods,
  ]);
};

export const get = async <T>({ cluster, namespace }: Scope, ...what: string[]): Promise<T> => {
  const { stdout } = await cluster.kubectl(['-n', namespace, 'get', ...what, '-o', 'json']);
  const object: T = JSON.parse(stdout);
  return object;
};

/** Polls until `read` gives what `isWanted`. @throws with the last value after 300 s. */
export const until = async <T>(
  read: () => Promise<T>,
  isWanted: (value: T) => boolean,
): Promise<T> => {
  for (const deadline = Date.now() + 300_000; ; await sleep(100)) {
    const value = await read();
    if (isWanted(value)) return value;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
  }
};

/** What a shell in the container prints. @throws when it fails. */
export const shell = async (
  cluster: Cluster,
  target: ContainerTarget,
  script: string,
): Promise<string> => {
  const { stdout, stderr, code } = await cluster.exec(target, ['sh', '-c', script]);
  if (code !== 0) throw new Error(`${script}: exit code ${code}: ${stderr}`);
  return stdout.trim();
};
