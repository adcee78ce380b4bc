/** What a pod has, by what its CNI says, in place of what it was given. Pure. */
import { spelling, withoutLength } from '#shared/policy/address-blocks.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { isReleased } from './claims.ts';
import { presentOf, type PortPod } from './objects.ts';

/** In words; undefined: as given, or its CNI has said nothing yet. */
export const differenceOf = (
  port: NetworkPort,
  pod: Pick<PortPod, 'present'>,
  network: ManagedNetwork,
): string | undefined => {
  const { metadata, spec } = port;
  // What the pod had before is claimed as far as it can be, and its MAC is its own.
  if (!spec.managed || isReleased(port)) return undefined;
  const { interface: device } = spec.claim;
  const there = presentOf(pod, network).find((one) => one.interface === device);
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
