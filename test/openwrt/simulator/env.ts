/** The environment of the simulator as a program. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

export const envSchema = z.object({
  KTH_POD_IP: z
    .string()
    .default('0.0.0.0')
    .describe('Address to listen on; the process kubelet sets it.'),
  PORT_80: port.default(80).describe('Port of HTTP; the process kubelet maps it.'),
  PORT_443: port
    .default(443)
    .describe('Port of HTTPS, which is served when a certificate is given.'),
  SIMULATOR_STATE_DIRECTORY: z
    .string()
    .optional()
    .describe(
      'Folder for the file system of the device and journal.jsonl; a temporary one when absent.',
    ),
  SIMULATOR_ROOT_DIRECTORY: z
    .string()
    .optional()
    .describe(
      'Folder that is / of the device: / in a container of its own, KTH_ROOT as a process.',
    ),
  KTH_ROOT: z
    .string()
    .optional()
    .describe('Set by the process kubelet: root folder of the container.'),
  SIMULATOR_TLS_CERTIFICATE: z
    .string()
    .optional()
    .describe('PEM file of the certificate for HTTPS.'),
  SIMULATOR_TLS_KEY: z.string().optional().describe('PEM file of its key.'),
  SIMULATOR_ROOT_PASSWORD: z
    .string()
    .optional()
    .describe('Password of root; any password passes when absent.'),
  SIMULATOR_AGENT_USERNAME: z.string().default('sdewan').describe('Login of the agent.'),
  SIMULATOR_AGENT_PASSWORD: z
    .string()
    .optional()
    .describe('Its password. Neither this nor the file given: no such login, as on a stock image.'),
  SIMULATOR_AGENT_PASSWORD_FILE: z.string().optional().describe('File that holds its password.'),
  SIMULATOR_RELOAD_MS_PER_RULE: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe('Milliseconds of a `fw4 reload` per section; measured on OpenWRT: 0.6.'),
  SIMULATOR_RELOAD_MS: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe('Milliseconds of each `fw4 reload` besides those per section: a slow device.'),
  SIMULATOR_MWAN3_MS: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe(
      "Milliseconds of each action of mwan3's init script; 4.4 s and more were measured on a busy machine; an idle device is taken to need 1000.",
    ),
  SIMULATOR_IPSEC_MS: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe("Milliseconds of each action of IPsec's init script; measured on OpenWRT: 100."),
  SIMULATOR_WRITE_MS_PER_KILOBYTE: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe(
      "Milliseconds of each write of a package per KiB, in which others' writes are lost or seen half; measured: 0.1 to 0.7.",
    ),
  SIMULATOR_UCI_MS_PER_KILOBYTE: z.coerce
    .number()
    .nonnegative()
    .default(0)
    .describe(
      'Milliseconds of each `uci` call per KiB of package and staged changes; 0.03 makes `uci add` as slow as measured.',
    ),
  SIMULATOR_PROCD_RELOADS: z
    .stringbool()
    .default(false)
    .describe("Whether procd reloads a service when its package was changed, as on ICN's image."),
  SIMULATOR_APIS: z
    .string()
    .default('ubus,icn')
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(['ubus', 'icn'])))
    .describe("What answers over HTTP: rpcd's JSON-RPC, LuCI with ICN's REST, or both."),
});

export type Env = z.infer<typeof envSchema>;

/** @throws ZodError */
export const readEnv = (env: NodeJS.ProcessEnv): Env => envSchema.parse(env);

export const agentPassword = (env: Env): string | undefined =>
  env.SIMULATOR_AGENT_PASSWORD_FILE === undefined
    ? env.SIMULATOR_AGENT_PASSWORD
    : readFileSync(env.SIMULATOR_AGENT_PASSWORD_FILE, 'utf8').trimEnd();
