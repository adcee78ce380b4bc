/**
 * The kernel of a device: its links and addresses are those that the package `network` configures.
 */
import type { UciSection } from '../../uci/package.ts';
import type { UciStore } from '../../uci/store.ts';
import { textOf } from '../uci.ts';
import { parseAddress } from './addresses.ts';
import type { Address } from './ip-routes.ts';
import { Kernel } from './kernel.ts';

/** `userRules` as in the kernel's own options. */
export const createKernel = (store: UciStore, userRules?: readonly string[]): Kernel =>
  new Kernel({
    addresses: () => interfacesOf(store).flatMap(addressOf),
    links: () => interfacesOf(store).map((section) => textOf(section, 'device')),
    defaultRoute: () => defaultRouteOf(interfacesOf(store)),
    ...(userRules ? { userRules } : {}),
  });

const interfacesOf = (store: UciStore): UciSection[] =>
  store.text('network') === undefined
    ? []
    : store.load('network').package.sections.filter(({ type }) => type === 'interface');

const addressOf = (section: UciSection): Address[] => {
  const [device, ip] = [textOf(section, 'device'), textOf(section, 'ipaddr')];
  const address = parseAddress(ip);
  const netmask = parseAddress(textOf(section, 'netmask'));
  if (address === undefined || device === '' || device === 'lo') return [];
  return [{ device, prefix: { address, bits: netmask === undefined ? 32 : ones(netmask) } }];
};

const ones = (mask: number): number => mask.toString(2).replaceAll('0', '').length;

/** The gateway with the lowest metric. */
const defaultRouteOf = (
  sections: readonly UciSection[],
): { via: string; device: string } | undefined => {
  const [best] = sections
    .filter((section) => textOf(section, 'gateway') !== '')
    .sort((a, b) => Number(textOf(a, 'metric')) - Number(textOf(b, 'metric')));
  return best && { via: textOf(best, 'gateway'), device: textOf(best, 'device') };
};
