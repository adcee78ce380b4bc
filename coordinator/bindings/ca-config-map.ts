/** Brings the CA to the agents of a namespace, as a ConfigMap that their pods mount. */
import type { KubeClient } from '#shared/kube/client.ts';
import { dataObjectSchema } from '#shared/kube/objects.ts';
import { find, keep, type WriteOutcome } from '#shared/kube/owned.ts';
import { COORDINATOR_CA_CONFIG_MAP, MANAGED_BY } from '#shared/names.ts';

const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: dataObjectSchema,
};

/** `bundle` undefined: there is to be none. @throws KubeError */
export const keepCaConfigMap = async (
  client: KubeClient,
  namespace: string,
  bundle: string | undefined,
  signal: AbortSignal,
): Promise<WriteOutcome> => {
  const key = { namespace, name: COORDINATOR_CA_CONFIG_MAP };
  const present = await find(client, configMaps, key, { signal });
  const desired = bundle !== undefined && {
    metadata: { ...key, labels: MANAGED_BY },
    fields: { data: { 'ca.crt': bundle } },
  };
  const { outcome } = await keep(
    { client, resource: configMaps, signal },
    desired || undefined,
    present,
  );
  return outcome;
};
