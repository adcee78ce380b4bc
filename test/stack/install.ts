/** Installs the product as an operator does, with `kubectl apply -k deploy`, and waits until it serves. */
import path from 'node:path';
import type { Cluster } from 'kind-test-harness';
import { coordinatorReady } from './faults.ts';
import { apply } from './operator.ts';
import { createCoordinatorTls, type CoordinatorTls } from './tls.ts';

export const COORDINATOR_URL = 'https://sdewan-coordinator.sdewan-system.svc:8443';
export const COORDINATOR_CA = 'sdewan-coordinator-ca';

const SYSTEM = 'sdewan-system';
const DEPLOY = path.resolve(import.meta.dirname, '../../deploy');

export const installProduct = async (
  cluster: Cluster,
  say: (line: string) => void = () => {},
): Promise<void> => {
  const tls = await createCoordinatorTls([new URL(COORDINATOR_URL).hostname]);
  await apply(cluster, SYSTEM, ...tlsObjects(tls));
  await cluster.kubectl(['apply', '-k', DEPLOY]);
  say('applied deploy/');
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
  await coordinatorReady(cluster);
  say('the coordinator serves');
};

/** The CA that agents must trust, as the installation holds it. */
export const coordinatorCa = async (cluster: Cluster): Promise<string> => {
  const path = String.raw`jsonpath={.data.ca\.crt}`;
  const { stdout } = await cluster.kubectl([
    'get',
    'secret',
    '-n',
    SYSTEM,
    'sdewan-coordinator-tls',
    '-o',
    path,
  ]);
  return Buffer.from(stdout, 'base64').toString();
};

const tlsObjects = ({ ca, cert, key }: CoordinatorTls): object[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'sdewan-coordinator-tls' },
    stringData: { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key },
  },
];
