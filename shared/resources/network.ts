/** What the kinds of OpenWRT's network configuration share. */
import type { UciSection } from '../uci/model.ts';

/** The routing table that ICN's platform keeps for applications of the CNF. */
export const CNF_TABLE = '40';

/**
 * The interface that an administrator has configured on a device. We never make one ourselves: netifd clears all addresses
 * and routes of a device when it takes it over, and brings it down with its last interface (netifd's device.c).
 */
export const interfaceOn = (device: string, network: readonly UciSection[]): string | undefined =>
  network.find(
    ({ type, options }) =>
      type === 'interface' &&
      // `ifname` before OpenWRT 21.02
      [options.device, options.ifname].flat().some((name) => name === device),
  )?.name;
