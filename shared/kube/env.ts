/** The environment variables that say where the API server is, the same in every program. */
import type * as z from 'zod';
import { envField } from '../runtime/env.ts';
import type { ConfigSource } from './config.ts';

/** To be spread into a program's schema. */
export const kubeEnv = {
  KUBECONFIG: envField
    .text()
    .optional()
    .describe('Kubeconfig for the API server; absent in a pod.'),
  KUBERNETES_SERVICE_HOST: envField
    .text()
    .optional()
    .describe('API server, set by Kubernetes in a pod.'),
  KUBERNETES_SERVICE_PORT: envField.text().optional().describe('Its port.'),
  SDEWAN_SERVICE_ACCOUNT_DIR: envField
    .text()
    .optional()
    .describe(
      'Folder with `token` and `ca.crt` for the API server; default: where Kubernetes puts them.',
    ),
};

export const configSourceOf = (env: z.infer<z.ZodObject<typeof kubeEnv>>): ConfigSource => ({
  kubeconfig: env.KUBECONFIG,
  serviceHost: env.KUBERNETES_SERVICE_HOST,
  servicePort: env.KUBERNETES_SERVICE_PORT,
  serviceAccountDir: env.SDEWAN_SERVICE_ACCOUNT_DIR,
});
