/** Whether a server at an address is reached from this host, or its pod, alone. */
import { within } from '../util/addresses.ts';

/** Without brackets: `localhost`, `127.0.0.1`, `::1`. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || isLoopbackAddress(hostname);

/** As a server listens at it. */
export const hostIn = ({ hostname }: URL): string => hostname.replaceAll(/[[\]]/g, '');

const isLoopbackAddress = within(['127.0.0.0/8', '::1/128']);
