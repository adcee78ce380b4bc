/** What a pod has, by what its CNI says, in place of what it was given. Pure. */
import { spelling, withoutLength } from '#shared/policy/address-blocks.ts';
import type { ManagedNetworkSpec } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { isReleased } from './decide.ts';
import type { PresentAddresses } from './objects.ts';

/** In words; undefined: as given, or its CNI has said nothing yet. */
export const differenceOf = (
  { metadata, spec, ...port }: NetworkPort,
  present: readonly PresentAddresses[],
  names: ManagedNetworkSpec['names'],
): string | undefined => {
  // What the pod had before is claimed as far as it can be, and its MAC is its own.
  if (!spec.managed || isReleased({ metadata, spec, ...port })) return undefined;
  const { interface: device } = spec.claim;
  const there = present.find((one) => one.interface === device && names.includes(one.name));
  if (there === undefined) return undefined;
  const given = textOf(spec.addresses, there.mac === undefined ? undefined : spec.mac);
  const has = textOf(there.addresses, there.mac);
  return given === has
    ? undefined
    : `interface ${device} has ${has}, and not ${given} of NetworkPort ${metadata.name}`;
};

const textOf = (addresses: readonly string[], mac: string | undefined): string =>
  [
    ...addresses.map((text) => spelling(withoutLength(text))).toSorted(),
    ...(mac === undefined ? [] : [mac.toLowerCase()]),
  ].join(' ');
