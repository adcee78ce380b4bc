/** Brings the CA to the agents of a namespace, as a ConfigMap that their pods mount. */
import type * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { dataObjectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { COORDINATOR_CA_CONFIG_MAP } from '#shared/names.ts';
import { MANAGED_BY } from './managed-by.ts';

type ConfigMap = z.infer<typeof dataObjectSchema>;

const configMaps: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: dataObjectSchema,
};
const KEY = 'ca.crt';

type Client = Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete'>;

/** `bundle` undefined: there is to be none. True when it had to change something. @throws KubeError */
export const keepCaConfigMap = async (
  client: Client,
  namespace: string,
  bundle: string | undefined,
  signal: AbortSignal,
): Promise<boolean> => {
  const key = { namespace, name: COORDINATOR_CA_CONFIG_MAP };
  const present = await client.get(configMaps, key, { signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (bundle === undefined) {
    if (present) await client.delete(configMaps, key, { signal });
    return present !== undefined;
  }
  const data = { [KEY]: bundle };
  if (present?.data?.[KEY] === bundle) return false;
  if (present) {
    const body: ConfigMap = { ...present, data };
    await client.replace(configMaps, body, { signal });
  } else
    await client.create(
      configMaps,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key, labels: MANAGED_BY }, data },
      { signal },
    );
  return true;
};
