/** What Neutron's refusal of a port means for the pod that waits for it. Pure. */
import type { NeutronError } from '../../../neutron/errors.ts';
import type { WaitReason } from '../decide.ts';

export type Refusal = {
  reason: WaitReason;
  message: string;
  /** No port at all can be made: in the project, or in this network. */
  full?: 'project' | 'network';
};

/** Neutron's types. The second comes of a race for one MAC, or for one address. */
const DUPLICATES: ReadonlySet<string> = new Set([
  'MacAddressInUse',
  'NeutronDbObjectDuplicateEntry',
]);
const NOT_FREE: ReadonlySet<string> = new Set([
  'IpAddressAlreadyAllocated',
  'IpAddressInUse',
  'InvalidIpForNetwork',
  'InvalidIpForSubnet',
]);

/** Undefined: the call has to be made again, or was not understood. */
export const refusalOf = (
  { status, type }: NeutronError,
  { network, asked }: { network: string; asked: string },
): Refusal | undefined => {
  if (type === 'OverQuota')
    return {
      reason: 'NoFreeAddress',
      full: 'project',
      message: `the quota of ports of the project in Neutron is used up (${type})`,
    };
  if (type === 'IpAddressGenerationFailure')
    return {
      reason: 'NoFreeAddress',
      full: 'network',
      message: `Neutron has no free address for network ${network} (${type})`,
    };
  if (DUPLICATES.has(type) || NOT_FREE.has(type))
    return {
      reason: 'FixedAddressNotFree',
      message: `a port of another user in Neutron has ${asked} (${type})`,
    };
  if (status === 400 || status === 404 || status === 409)
    return {
      reason: 'NetworkNotReady',
      message: `Neutron refuses a port in network ${network} with ${status} (${type})`,
    };
  return undefined;
};
