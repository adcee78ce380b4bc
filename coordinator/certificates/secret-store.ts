/** Reads and writes the certificate Secret. Writes are fenced by its resourceVersion, so of several replicas one wins. */
import type * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isNotFound } from '#shared/kube/errors.ts';
import { dataObjectSchema, type ResourceType } from '#shared/kube/objects.ts';
import {
  isProvided,
  readMaterial,
  writeMaterial,
  type Material,
  type SecretData,
} from './material.ts';

const SECRETS: ResourceType<z.infer<typeof dataObjectSchema>> = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  schema: dataObjectSchema,
};

export type StoredMaterial = {
  material: Material | undefined;
  /** Somebody else's: not to be written. */
  provided: boolean;
  /** Undefined when there is no Secret yet. */
  resourceVersion: string | undefined;
};

export type SecretStore = {
  /** @throws KubeError */
  read: (signal: AbortSignal) => Promise<StoredMaterial>;
  /** False when another replica was faster: read again. @throws KubeError for everything else */
  write: (material: Material, over: StoredMaterial, signal: AbortSignal) => Promise<boolean>;
};

export const createSecretStore = (
  client: Pick<KubeClient, 'get' | 'create' | 'patch'>,
  key: { namespace: string; name: string },
): SecretStore => ({
  read: async (signal) => {
    try {
      const { data, metadata } = await client.get(SECRETS, key, { signal });
      return {
        material: readMaterial(data),
        provided: isProvided(data),
        resourceVersion: metadata.resourceVersion,
      };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { material: undefined, provided: false, resourceVersion: undefined };
    }
  },
  write: async (material, { resourceVersion }, signal) => {
    const data = writeMaterial(material);
    try {
      if (resourceVersion === undefined) {
        const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: key };
        await client.create(SECRETS, { ...body, data: withoutNulls(data) }, { signal });
      } else {
        const patch = { type: 'merge' as const, body: { metadata: { resourceVersion }, data } };
        await client.patch(SECRETS, key, { patch, signal });
      }
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  },
});

const withoutNulls = (data: Record<string, string | null>): SecretData =>
  Object.fromEntries(
    Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null),
  );
