/**
 * Reads and writes the certificate Secret. Writes are fenced to the version that was read, so of
 * several replicas one wins.
 */
import type * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { dataObjectSchema, resourceV1 } from '#shared/kube/objects.ts';
import { find, isOvertaken, keep } from '#shared/kube/owned.ts';
import { isProvided, readMaterial, writeMaterial, type Material } from './material.ts';

type Secret = z.infer<typeof dataObjectSchema>;

const secrets = resourceV1('', 'secrets', 'Secret', dataObjectSchema);

export type StoredMaterial = {
  material: Material | undefined;
  /** That of others: not to be written. */
  provided: boolean;
  /** As it was read; undefined when there is none yet. */
  secret: Secret | undefined;
};

export type SecretStore = {
  /** @throws KubeError */
  read: (signal: AbortSignal) => Promise<StoredMaterial>;
  /** False when another replica was faster: read again. @throws KubeError for everything else */
  write: (material: Material, over: StoredMaterial, signal: AbortSignal) => Promise<boolean>;
};

export const createSecretStore = (
  client: Pick<KubeClient, 'get' | 'create' | 'patch' | 'delete'>,
  key: { namespace: string; name: string },
): SecretStore => ({
  read: async (signal) => {
    const secret = await find(client, secrets, key, { signal });
    return { material: readMaterial(secret?.data), provided: isProvided(secret?.data), secret };
  },
  write: async (material, { secret }, signal) => {
    const fields = { type: 'Opaque', data: writeMaterial(material, secret?.data) };
    const owned = { client, resource: secrets, signal };
    const { outcome } = await keep(owned, { metadata: key, fields }, secret);
    return !isOvertaken(outcome);
  },
});
