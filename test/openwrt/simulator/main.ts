/**
 * The simulator as a program: `node test/openwrt/simulator/main.ts`, configured by its environment
 * (env.ts).
 */
import { readFileSync } from 'node:fs';
import { agentPassword, readEnv, type Env } from './env.ts';
import { startSimulator, type SimulatorOptions } from './simulator.ts';

const optionsOf = (env: Env): SimulatorOptions => {
  const password = agentPassword(env);
  const { SIMULATOR_TLS_CERTIFICATE: certificate, SIMULATOR_TLS_KEY: key } = env;
  const rootDirectory = env.SIMULATOR_ROOT_DIRECTORY ?? env.KTH_ROOT;
  return {
    host: env.KTH_POD_IP,
    httpPort: env.PORT_80,
    apis: env.SIMULATOR_APIS,
    reloadMsPerRule: env.SIMULATOR_RELOAD_MS_PER_RULE,
    reloadMs: env.SIMULATOR_RELOAD_MS,
    serviceMs: { mwan3: env.SIMULATOR_MWAN3_MS, ipsec: env.SIMULATOR_IPSEC_MS },
    writeMsPerKilobyte: env.SIMULATOR_WRITE_MS_PER_KILOBYTE,
    uciMsPerKilobyte: env.SIMULATOR_UCI_MS_PER_KILOBYTE,
    procdReloads: env.SIMULATOR_PROCD_RELOADS,
    factory: {
      rootPassword: env.SIMULATOR_ROOT_PASSWORD,
      agent:
        password === undefined ? undefined : { username: env.SIMULATOR_AGENT_USERNAME, password },
    },
    ...(env.SIMULATOR_STATE_DIRECTORY === undefined
      ? {}
      : { stateDirectory: env.SIMULATOR_STATE_DIRECTORY }),
    ...(rootDirectory === undefined ? {} : { rootDirectory }),
    ...(certificate === undefined || key === undefined
      ? {}
      : {
          https: {
            port: env.PORT_443,
            certificate: readFileSync(certificate, 'utf8'),
            key: readFileSync(key, 'utf8'),
          },
        }),
  };
};

const starting = startSimulator(optionsOf(readEnv(process.env)));
const stop = (): void => {
  void starting.then((simulator) => simulator.stop()).then(() => process.exit(0));
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

const { url, configDirectory } = await starting;
console.log(`OpenWRT simulator at ${url}, configuration in ${configDirectory}`);
