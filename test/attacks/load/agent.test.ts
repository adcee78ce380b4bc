/**
 * Twenty namespaces whose policies a CNF is to enforce, as many as its agent is given and more. The
 * agent stays within the memory of its container, takes what it has room for, and says of the rest
 * that it only isolates.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { MAX_RULES, MAX_SLICE_MEMBERS, MAX_TAKEN } from '#shared/policy/bounds.ts';
import { addressGroupResource } from '#shared/resources/other-kinds/address-group.ts';
import { policyEnforcementResource } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { startOpenwrt, type TestOpenwrt } from '../../contract/agent/support/openwrt.ts';
import { SEED_NETWORKS } from '../../contract/agent/support/pass.ts';
import {
  startCoordinator,
  type ListeningCoordinator,
} from '../../integration/support/coordinator.ts';
import { applyCrds } from '../../integration/support/crds.ts';
import { eventually } from '../../integration/support/eventually.ts';
import { agentFlags } from '../../stack/agent-flags.ts';
import { programFile } from '../../stack/programs.ts';
import { createControlGroup, type ControlGroup } from '../control-group.ts';
import { makeMany } from '../many.ts';
import { memoryOf } from '../memory.ts';

/** Memory of the agent's container, where no annotation says otherwise. */
const LIMIT_BYTES = 134_217_728;
const NAMESPACES = 20;
const POLICIES = 4;
/** With the groups that policies select more than is taken. */
const LINES = MAX_RULES;
const labels = { sdewanPurpose: 'cnf-1' };

let cluster: Cluster;
let client: KubeClient;
let group: ControlGroup | undefined;
let openwrt: TestOpenwrt;
let coordinator: ListeningCoordinator;
let agent: ChildProcess | undefined;
let namespace: string;

beforeAll(async () => {
  cluster = await connectCluster();
  await applyCrds(cluster);
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  namespace = await cluster.createNamespace('agent-load');
  group = await createControlGroup(LIMIT_BYTES);
  openwrt = await startOpenwrt({ login: 'mounted', time: 'real' });
  coordinator = await startCoordinator();
});
afterAll(async () => {
  const ended = new Promise((resolve) => agent?.once('exit', resolve) ?? resolve(undefined));
  agent?.kill();
  await ended;
  await coordinator.stop();
  await openwrt.stop();
  await client.close();
  await group?.end();
});

const hash = (of: string, at: number): string =>
  `${Buffer.from(of).toString('hex')}${at.toString(16)}`.padStart(16, '0').slice(-16);

const tenant = async (at: number): Promise<void> => {
  const of = `tenant-${at}`;
  const pods = hash('', at + 1);
  await client.create(addressGroupResource, {
    apiVersion: apiVersionOf(addressGroupResource),
    kind: addressGroupResource.kind,
    metadata: { namespace, name: of, labels },
    spec: {
      group: pods,
      slice: 0,
      members: Array.from({ length: MAX_SLICE_MEMBERS }, (_, n) => `10.${100 + at}.0.${n + 1}`),
    },
  });
  for (let policy = 0; policy < POLICIES; policy += 1)
    await client.create(policyEnforcementResource, {
      apiVersion: apiVersionOf(policyEnforcementResource),
      kind: policyEnforcementResource.kind,
      metadata: { namespace, name: `${of}-${policy}`, labels },
      spec: {
        policy: { namespace: of, name: `p-${policy}`, uid: `${of}-${policy}`, generation: 1 },
        place: 'cluster',
        pods,
        isolates: ['ingress'],
        lines: Array.from({ length: LINES }, (_, n) => ({
          direction: 'ingress',
          cidr: `2001:db8:${(1_000 * policy + n).toString(16)}:ffff:${at}::/80`,
          protocol: 'TCP',
          port: 8_080,
        })),
        exceptions: [],
      },
    });
};

const start = (): ChildProcess => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(openwrt.folder, name), text);
    return join(openwrt.folder, name);
  };
  const stateDir = join(openwrt.folder, 'state');
  mkdirSync(stateDir, { recursive: true });
  const command = [process.execPath, ...agentFlags(), programFile('agent')];
  const [program = '', ...args] = group?.inside(command) ?? command;
  return spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      KUBECONFIG: cluster.kubeconfig,
      SDEWAN_PURPOSE: 'cnf-1',
      SDEWAN_NAMESPACE: namespace,
      SDEWAN_POD_NAME: 'cnf-1-0',
      SDEWAN_OPENWRT_URL: openwrt.simulator.url,
      SDEWAN_OPENWRT_USERNAME_FILE: openwrt.usernameFile,
      SDEWAN_OPENWRT_PASSWORD_FILE: openwrt.passwordFile,
      SDEWAN_COORDINATOR_URL: coordinator.url,
      SDEWAN_COORDINATOR_TOKEN_FILE: file('token', 'a-token'),
      SDEWAN_NETWORKS_FILE: file('nfn-network', SEED_NETWORKS),
      SDEWAN_STATE_DIR: stateDir,
      SDEWAN_HTTP_PORT: '0',
    },
  });
};

it('lets the agent take as much as it has room for, and stay within its memory', async () => {
  await makeMany(NAMESPACES, tenant);
  agent = start();
  const known = (state: string): number =>
    coordinator.rules().filter((rule) => rule.kind === 'PolicyEnforcement' && rule.state === state)
      .length;
  await eventually(() => known('Applied') + known('Failed')).toBe(NAMESPACES * POLICIES);
  const { now, peak } = memoryOf(agent?.pid ?? 0);
  console.log(
    `${known('Applied')} of ${NAMESPACES * POLICIES} policies of ${LINES} lines taken: ${now} MiB, at most ${peak} MiB`,
  );
  expect(known('Applied')).toBeGreaterThan((0.8 * MAX_TAKEN) / LINES);
  expect(known('Failed')).toBeGreaterThan(0);
});
