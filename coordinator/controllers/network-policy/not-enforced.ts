/** Why a policy is not enforced for a pod that it selects: for programs, and in words. */
import type { Refusal } from '#shared/resources/other-kinds/policy-enforcement.ts';

export type NotEnforced =
  | Refusal['reason']
  | 'AddressNotManaged'
  | 'AddressShared'
  | 'AddressTaken'
  | 'AgentNotReady'
  | 'Finished'
  | 'HostNetwork'
  | 'IsTheEnforcer'
  | 'NoAddressYet'
  | 'NotInNetwork'
  | 'OutsideNetwork'
  | 'SameNetworkOnly';

export const NOT_ENFORCED: Readonly<Record<NotEnforced, string>> = {
  AddressNotManaged:
    'the coordinator has not given it its address: the policy isolates it, and nothing is let pass as from or to it',
  AddressShared:
    'another pod has the same address: the policy isolates it, and nothing is let pass as from or to either',
  AddressTaken:
    'another pod has the same address, to which it belongs: a node runs that one, or it is not being stopped',
  AgentNotReady: 'not every pod of the CNF is known to have the policy now',
  Finished: 'it has ended, and has no address',
  HostNetwork: "it has the node's addresses, as has everything else on that node",
  InvalidSpec: 'the policy as it is now is not carried',
  IsTheEnforcer: 'it is a pod of the CNF itself',
  NoAddressYet: 'it has no address',
  NotInNetwork: 'it has no address in the second networks of the policy',
  OutsideNetwork: "its address there is in no subnet of the CNF's network",
  SameNetworkOnly:
    'all that the policy lets pass is between it and neighbours in its own subnet, which no gateway sees',
  SubnetUnknown: 'the policy as it is now is not carried',
  TooLarge: 'the policy as it is now is not carried',
};
