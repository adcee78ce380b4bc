/** The agent as a program: reads its environment, makes its clients, runs until it is stopped. */
import { join } from 'node:path';
import { kinds } from '#shared/resources/registry.ts';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { configSourceOf } from '#shared/kube/env.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { readEnv } from '#shared/runtime/env.ts';
import { runProgram } from '#shared/runtime/lifecycle.ts';
import { createLogger } from '#shared/runtime/log.ts';
import { runAgent } from './agent.ts';
import { apiServerAt } from './commit-confirm/reachability.ts';
import { agentEnvSchema, loginFilesOf } from './env.ts';
import { createDriver } from './openwrt/drivers.ts';
import { openUnconfirmed } from './openwrt/ubus/write/unconfirmed.ts';
import { ensureOwnLogin } from './openwrt/ubus/login/own-login.ts';

const NAME = 'sdewan-agent';
const UNCONFIRMED_FILE = 'unconfirmed.json';

await runProgram({
  name: NAME,
  main: async (signal) => {
    const env = readEnv(agentEnvSchema, process.env);
    const log = createLogger({ name: NAME, level: env.SDEWAN_LOG_LEVEL });
    const config = await loadKubeConfig(configSourceOf(env));
    const kube = createKubeClient({ config, userAgent: NAME });
    const packages = [...new Set(kinds.flatMap(({ uci }) => (uci ? [uci.package] : [])))];
    const ownLogin = env.SDEWAN_OWN_LOGIN_DIR;
    // Before anything that a probe looks at: OpenWRT's container starts when the startup probe
    // passes.
    if (ownLogin !== undefined) await ensureOwnLogin({ directory: ownLogin, packages });
    const driver = createDriver({
      wanted: env.SDEWAN_DRIVER,
      target: {
        url: env.SDEWAN_OPENWRT_URL,
        caFile: env.SDEWAN_OPENWRT_CA_FILE,
        serverName: env.SDEWAN_OPENWRT_SERVER_NAME,
      },
      logins: loginFilesOf(env),
      packages,
      unconfirmed: await openUnconfirmed(join(env.SDEWAN_STATE_DIR, UNCONFIRMED_FILE), log),
      reassertMs: env.SDEWAN_REASSERT_INTERVAL_MS,
      clock: systemClock,
      log,
    });
    log.info({ purpose: env.SDEWAN_PURPOSE, namespace: env.SDEWAN_NAMESPACE }, 'agent started');
    try {
      const apiServer = apiServerAt(config);
      await runAgent({ env, kinds, kube, driver, apiServer, clock: systemClock, log }, signal);
    } finally {
      await kube.close();
    }
  },
});
