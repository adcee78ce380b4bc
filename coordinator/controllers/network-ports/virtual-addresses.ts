/** Addresses that a CNF moves between its pods: none of them is asked for by a pod. */
import * as z from 'zod';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { virtualAddress } from '#shared/resources/rules/virtual-address.ts';

export type VirtualAddress = KubeObject & {
  /** Each with its prefix length or alone. */
  addresses: readonly string[];
};

/** Its network is not read: each namespace can call another one so, or it names a device. */
export const virtualAddresses: ResourceType<VirtualAddress> = {
  ...virtualAddress,
  schema: objectSchema
    .extend({ spec: z.looseObject({ addresses: z.array(z.string()) }) })
    .transform((one): VirtualAddress => ({ ...identityOf(one), addresses: one.spec.addresses })),
};
