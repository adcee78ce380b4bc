/** Everything that the coordinator is told from outside, read once at its start. The table in docs/ is made from this schema. */
import * as z from 'zod';
import { kubeEnv } from '#shared/kube/env.ts';
import { envField } from '#shared/runtime/env.ts';

export const coordinatorEnvSchema = z.object({
  SDEWAN_REPORT_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address on which reports of agents are taken.'),
  SDEWAN_REPORT_PORT: envField.port().default(8_443).describe('Its port; 0 takes a free one.'),
  SDEWAN_TLS_CERT_FILE: envField
    .text()
    .describe('PEM file with the certificate for it. Read again when it changes.'),
  SDEWAN_TLS_KEY_FILE: envField
    .text()
    .describe('PEM file with the key. Read again when it changes.'),
  SDEWAN_HTTP_HOST: envField
    .text()
    .default('0.0.0.0')
    .describe('Address of `/healthz`, `/readyz` and `/metrics`, plain http.'),
  SDEWAN_HTTP_PORT: envField.port().default(9_465).describe('Its port; 0 takes a free one.'),
  SDEWAN_SILENT_AFTER_MS: envField
    .int(1_000, 3_600_000)
    .default(45_000)
    .describe(
      'An agent not heard of for this long is silent: its pod is not in sync. Also the time that agents have after a start of the coordinator before a status is lowered for want of a report. More than three of their heartbeats.',
    ),
  SDEWAN_WATCH_NAMESPACE: envField
    .text()
    .optional()
    .describe('Only rules and pods of this namespace are looked after; default: of all.'),
  POD_NAME: envField
    .text()
    .default('sdewan-coordinator')
    .describe("The pod's name, as the source of Events."),

  ...kubeEnv,
  SDEWAN_LOG_LEVEL: envField.logLevel().default('info').describe('Least level that is logged.'),
});

export type CoordinatorEnv = z.infer<typeof coordinatorEnvSchema>;
