/** An agent in this process, as `main.ts` would start it, with short intervals. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kinds } from '#shared/resources/registry.ts';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { readEnv } from '#shared/runtime/env.ts';
import { createLogger, type Logger } from '#shared/runtime/log.ts';
import { apiServerAt } from '../../../agent/commit-confirm/reachability.ts';
import { runAgent } from '../../../agent/agent.ts';
import { agentEnvSchema, loginFilesOf } from '../../../agent/env.ts';
import { createDriver } from '../../../agent/openwrt/drivers.ts';
import { openUnconfirmed } from '../../../agent/openwrt/ubus/write/unconfirmed.ts';
import type { TestOpenwrt } from '../../contract/agent/support/openwrt.ts';
import { SEED_NETWORKS } from '../../contract/agent/support/pass.ts';

export type TestAgentOptions = {
  openwrt: TestOpenwrt;
  coordinatorUrl: string;
  kubeconfig: string;
  namespace: string;
  purpose?: string;
  /** Contents of the pod's nfn-network annotation. */
  networks?: string;
  env?: Record<string, string>;
  /** Silent when absent, unless TEST_LOG_LEVEL says otherwise. */
  log?: Logger;
};

export type TestAgent = {
  stateDir: string;
  networksFile: string;
  /** Resolves when it has ended; rejects when it failed. */
  stop: () => Promise<void>;
};

export const startAgent = async (options: TestAgentOptions): Promise<TestAgent> => {
  const { openwrt, coordinatorUrl, kubeconfig, namespace } = options;
  const stateDir = join(openwrt.folder, 'state');
  const networksFile = join(openwrt.folder, 'nfn-network');
  const tokenFile = join(openwrt.folder, 'token');
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(networksFile, options.networks ?? SEED_NETWORKS);
  writeFileSync(tokenFile, 'a-token');
  const env = readEnv(agentEnvSchema, {
    SDEWAN_PURPOSE: options.purpose ?? 'cnf-1',
    SDEWAN_NAMESPACE: namespace,
    SDEWAN_POD_NAME: 'cnf-1-0',
    SDEWAN_OPENWRT_URL: openwrt.simulator.url,
    SDEWAN_OPENWRT_USERNAME_FILE: openwrt.usernameFile,
    SDEWAN_OPENWRT_PASSWORD_FILE: openwrt.passwordFile,
    SDEWAN_COORDINATOR_URL: coordinatorUrl,
    SDEWAN_COORDINATOR_TOKEN_FILE: tokenFile,
    SDEWAN_NETWORKS_FILE: networksFile,
    SDEWAN_STATE_DIR: stateDir,
    SDEWAN_HTTP_PORT: '0',
    SDEWAN_PROBE_INTERVAL_MS: '200',
    SDEWAN_HEARTBEAT_INTERVAL_MS: '500',
    SDEWAN_INFORMATION_INTERVAL_MS: '500',
    ...options.env,
  });
  const log =
    options.log ??
    createLogger({ name: 'agent', level: process.env['TEST_LOG_LEVEL'] ?? 'silent' });
  const config = await loadKubeConfig({ kubeconfig });
  const kube = createKubeClient({ config });
  const apiServer = apiServerAt(config);
  const driver = createDriver({
    wanted: env.SDEWAN_DRIVER,
    target: { url: env.SDEWAN_OPENWRT_URL },
    logins: loginFilesOf(env),
    reassertMs: env.SDEWAN_REASSERT_INTERVAL_MS,
    clock: systemClock,
    unconfirmed: await openUnconfirmed(join(stateDir, 'unconfirmed.json'), log),
    packages: [...new Set(kinds.flatMap(({ uci }) => (uci ? [uci.package] : [])))],
    log,
  });
  const stopping = new AbortController();
  const ended = runAgent(
    { env, kinds, kube, driver, apiServer, clock: systemClock, log },
    stopping.signal,
  );
  // Handled by stop(); until then it must not count as unhandled.
  ended.catch(() => undefined);
  return {
    stateDir,
    networksFile,
    stop: async () => {
      stopping.abort(new Error('test over'));
      await ended;
      await kube.close();
    },
  };
};
