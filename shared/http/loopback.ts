/** Whether a server at an address is reached from this host, or its pod, alone. */
import { BlockList, isIPv6 } from 'node:net';

/** Without brackets: `localhost`, `127.0.0.1`, `::1`. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || LOOPBACK.check(hostname, isIPv6(hostname) ? 'ipv6' : 'ipv4');

/** As a server listens at it. */
export const hostIn = ({ hostname }: URL): string => hostname.replaceAll(/[[\]]/g, '');

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');
