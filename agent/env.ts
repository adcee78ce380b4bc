/** The agent's environment, read once at its start. The table in docs/ is made from this schema. */
import { join } from 'node:path';
import * as z from 'zod';
import { driverChoices, drivers, driversFor, loginNeededBy } from '#shared/inject/drivers.ts';
import { METRICS_PORT } from '#shared/inject/environment.ts';
import { OWN_LOGIN_FILES } from '#shared/inject/own-login-files.ts';
import { STATE_DIRECTORY } from '#shared/inject/state-directory.ts';
import { kubeEnv } from '#shared/kube/env.ts';
import { EnvError, envField } from '#shared/runtime/env.ts';
import { isLoopback } from '#shared/http/loopback.ts';
import { INSPECT_PORT } from '#shared/protocol/inspection.ts';
import type { DriverOptions, LoginFiles } from './openwrt/drivers.ts';

export const isOnLoopback = (url: string): boolean => {
  const [, hostname = ''] = /^http:\/\/\[?([\w.:]+?)\]?:\d+\/?$/.exec(url) ?? [];
  return isLoopback(hostname);
};

export const agentEnvSchema = z.object({
  SDEWAN_PURPOSE: envField
    .text()
    .max(63)
    .describe(
      'Purpose of the CNF: the agent applies the rules whose label `sdewanPurpose` has this value.',
    ),
  SDEWAN_NAMESPACE: envField
    .text()
    .describe("The pod's namespace; the agent watches only its rules."),
  SDEWAN_POD_NAME: envField.text().describe("The pod's name, in reports."),

  SDEWAN_OPENWRT_URL: envField
    .url()
    .default('http://127.0.0.1:80')
    .describe("OpenWRT's web server, as seen from the pod."),
  SDEWAN_DRIVER: z
    .enum(driverChoices)
    .default('auto')
    .describe(
      `How to talk to OpenWRT: ${drivers.map(({ name, api }) => `\`${name}\` for ${api}`).join(', ')}; \`auto\` selects the first whose API OpenWRT answers.`,
    ),
  SDEWAN_OPENWRT_USERNAME_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the login name on OpenWRT. Read at each login; without it the agent logs in as `root`.',
    ),
  SDEWAN_OPENWRT_PASSWORD_FILE: envField
    .text()
    .optional()
    .describe('File with its password. Read at each login.'),
  SDEWAN_OWN_LOGIN_DIR: envField
    .text()
    .optional()
    .describe(
      "Folder for the files of the agent's own login, which it creates at its first start and then uses instead of the two above.",
    ),
  SDEWAN_OPENWRT_CA_FILE: envField
    .text()
    .optional()
    .describe("PEM file with the CA of OpenWRT's certificate, for https."),
  SDEWAN_OPENWRT_SERVER_NAME: envField
    .text()
    .optional()
    .describe("Name in OpenWRT's certificate, if it is not the host of the URL."),

  SDEWAN_COORDINATOR_URL: envField
    .urls()
    .describe(
      "The coordinator's URL, as seen from the pod, or several, separated by commas. The agent reports to each address of each. It applies rules also while no coordinator answers.",
    ),
  SDEWAN_COORDINATOR_CA_FILE: envField
    .text()
    .optional()
    .describe("PEM file with the CA of the coordinator's certificate. Read again when it changes."),
  SDEWAN_COORDINATOR_SERVER_NAME: envField
    .text()
    .optional()
    .describe("Name in the coordinators' certificate, if it is not the host of the URL."),
  SDEWAN_COORDINATOR_TOKEN_FILE: envField
    .text()
    .describe("File with the pod's token for the coordinator. Read again when it changes."),

  SDEWAN_NETWORKS_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the pod annotation `k8s.plugin.opnfv.org/nfn-network`. Read again when it changes.',
    ),
  SDEWAN_ATTACHMENTS_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the pod annotation `k8s.v1.cni.cncf.io/networks`. Read again when it changes.',
    ),
  SDEWAN_NETWORK_STATUS_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the pod annotation `k8s.v1.cni.cncf.io/network-status`. Read again when it changes.',
    ),
  SDEWAN_PAUSED_FILE: envField
    .text()
    .optional()
    .describe(
      'File with the pod annotation `sdewan.akraino.org/paused`; while it is `true` the agent changes nothing on OpenWRT. Read again when it changes.',
    ),
  SDEWAN_WITHOUT_KINDS: envField
    .list()
    .default([])
    .describe(
      'Kinds that the agent does not watch, separated by commas; it leaves their rules as they are on OpenWRT.',
    ),
  SDEWAN_STATE_DIR: envField
    .text()
    .default(STATE_DIRECTORY)
    .describe(
      "Folder of the agent's own (an emptyDir) for the ledger and the files that probes check.",
    ),

  ...kubeEnv,

  SDEWAN_HTTP_HOST: envField
    .text()
    .default('127.0.0.1')
    .describe('Address of `/healthz`, `/readyz` and `/metrics`.'),
  SDEWAN_HTTP_PORT: envField
    .port()
    .default(METRICS_PORT)
    .describe('Its port; 0 selects a free one.'),
  SDEWAN_INSPECT_URL: z
    .union([z.literal('off'), envField.url().refine(isOnLoopback, 'must be on loopback, or off')])
    .default(`http://127.0.0.1:${INSPECT_PORT}`)
    .describe(
      'Where the agent answers people who forward a port to its pod ([what it answers](cli.md#what-an-agent-answers)): on loopback of the pod only; `off`: nowhere.',
    ),
  SDEWAN_LOG_LEVEL: envField.logLevel().default('info').describe('Lowest level that is logged.'),
  SDEWAN_PROBE_INTERVAL_MS: envField
    .int(100, 60_000)
    .default(1_000)
    .describe(
      'Interval of checks whether OpenWRT has restarted or another user or program has changed it, jittered by a quarter. While OpenWRT does not answer, 100 ms for the first minute.',
    ),
  SDEWAN_FULL_PASS_INTERVAL_MS: envField
    .int(1_000, 86_400_000)
    .default(300_000)
    .describe('Interval of full comparisons without a cause, jittered by a quarter.'),
  SDEWAN_REASSERT_INTERVAL_MS: envField
    .int(0, 86_400_000)
    .default(900_000)
    .describe(
      'Driver `icn`: interval of writing NAT and network firewall rules again, because a restart of the firewall removes them and the API does not show that; 0: never.',
    ),
  SDEWAN_COMMIT_CONFIRM: z
    .union([z.literal('off'), envField.int(5, 600)])
    .default(30)
    .describe(
      'Seconds from the end of a reload in which the agent must go on reaching the API server by new connections, or the change is undone; `off`: changes stay.',
    ),
  SDEWAN_HEARTBEAT_INTERVAL_MS: envField
    .int(100, 600_000)
    .default(10_000)
    .describe('Interval of reports when nothing changes, jittered by a quarter.'),
  SDEWAN_INFORMATION_INTERVAL_MS: envField
    .int(100, 3_600_000)
    .default(15_000)
    .describe(
      'Interval of reading interfaces, tunnels and WANs for the CNFStatus, jittered by a quarter.',
    ),
});

export type AgentEnv = z.infer<typeof agentEnvSchema>;

/**
 * Where the login on OpenWRT is, by driver: the agent's own, if it has one, where the driver can do
 * with that; else the one that is named. @throws EnvError when the environment names none for the
 * driver
 */
export const loginFilesOf = (env: AgentEnv): DriverOptions['logins'] => {
  const { SDEWAN_OPENWRT_USERNAME_FILE: usernameFile, SDEWAN_OPENWRT_PASSWORD_FILE: passwordFile } =
    env;
  const directory = env.SDEWAN_OWN_LOGIN_DIR;
  const named =
    usernameFile !== undefined && passwordFile !== undefined
      ? { usernameFile, passwordFile }
      : undefined;
  const own = directory === undefined ? undefined : ownLoginIn(directory);
  const logins = driversFor(env.SDEWAN_DRIVER).flatMap(({ name, needsLogin }) => {
    const files = needsLogin === undefined ? (own ?? named) : named;
    return files === undefined ? [] : [[name, files] as const];
  });
  if (logins.length === 0) {
    const orOwn = loginNeededBy(env.SDEWAN_DRIVER) === undefined ? ', or SDEWAN_OWN_LOGIN_DIR' : '';
    throw new EnvError([
      `SDEWAN_OPENWRT_USERNAME_FILE and SDEWAN_OPENWRT_PASSWORD_FILE${orOwn}: required but not set`,
    ]);
  }
  return new Map(logins);
};

const ownLoginIn = (directory: string): LoginFiles => ({
  usernameFile: join(directory, OWN_LOGIN_FILES.username),
  passwordFile: join(directory, OWN_LOGIN_FILES.password),
});
