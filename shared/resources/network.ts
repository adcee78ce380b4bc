/** What the kinds of OpenWRT's network configuration share. */
import { isIPv6 } from 'node:net';
import type { UciSection } from '../uci/model.ts';

/** The routing table that ICN's platform keeps for applications of the CNF. */
export const CNF_TABLE = '40';

/**
 * What a reload of mwan3 removes from the kernel, whatever made it (measured): routing tables 1 to
 * 60, with its usual mask 0x3F00, and policy rules of these priorities.
 */
export const mwan3Removes = {
  rule: (priority: number): boolean => priority >= 1_000 && priority <= 3_999,
  words:
    'is removed by each reload of mwan3; the agent puts it back, and for some seconds packets go another way',
};

/**
 * The source or destination of a policy rule, always with a length: netifd before July 2026 takes
 * an address alone for /0, and sends all packets by the rule's table (measured).
 */
export const withLength = (network: string): string =>
  network.includes('/') ? network : `${network}/${isIPv6(network) ? 128 : 32}`;

/**
 * The interface that an administrator has configured on a device. We never make one ourselves:
 * netifd clears all addresses and routes of a device when it takes it over, and brings it down with
 * its last interface (netifd's device.c).
 */
export const interfaceOn = (device: string, network: readonly UciSection[]): string | undefined =>
  network.find(
    ({ type, options }) =>
      type === 'interface' &&
      // `ifname` before OpenWRT 21.02
      [options.device, options.ifname].flat().some((name) => name === device),
  )?.name;
