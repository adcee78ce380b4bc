/**
 * The network devices of the pod, which agent and OpenWRT share: which has the default route, which
 * has which address. Looked at again and again, because rules may name a device by what it is for,
 * and that moves.
 */
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { DeviceTable } from '#shared/compile/types.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';

export type DevicesDeps = {
  onChange: () => void;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
  read?: () => Promise<DeviceTable>;
};

/** Two small files of the kernel and one call; a moved address is noticed within this time. */
const LOOK_INTERVAL_MS = 2_000;

/**
 * The table as it is now, whenever asked; `onChange` is not called for the first look. What cannot
 * be read changes nothing.
 */
export const followDevices = async (deps: DevicesDeps): Promise<() => DeviceTable> => {
  const { onChange, signal, clock, log, read = readDevices } = deps;
  let devices: DeviceTable = { defaultRoute: undefined, byAddress: new Map() };
  let complained = false;

  /** True when something is not as it was. */
  const look = async (): Promise<boolean> => {
    try {
      const before = devices;
      devices = await read();
      return !isSame(devices, before);
    } catch (error) {
      if (!complained)
        log.warn({ reason: messageOf(error) }, "failed to read the pod's network devices");
      complained = true;
      return false;
    }
  };
  const lookAgain = async (): Promise<void> => {
    if (await look()) onChange();
    schedule();
  };
  const schedule = (): void => {
    if (signal.aborted) return;
    const cancel = clock.after(LOOK_INTERVAL_MS, () => {
      signal.removeEventListener('abort', cancel);
      void lookAgain();
    });
    signal.addEventListener('abort', cancel, { once: true });
  };
  await look();
  schedule();
  return () => devices;
};

/** @throws where there is no /proc/net */
export const readDevices = async (): Promise<DeviceTable> => {
  const [v4, v6] = await Promise.all([
    readFile('/proc/net/route', 'utf8'),
    // Absent where the kernel has no IPv6.
    readFile('/proc/net/ipv6_route', 'utf8').catch(() => ''),
  ]);
  const addresses = Object.entries(networkInterfaces()).flatMap(([device, entries = []]) =>
    entries.map(({ address }): [string, string] => [address, device]),
  );
  return { defaultRoute: defaultRouteOf(v4, v6), byAddress: new Map(addresses) };
};

const RTF_REJECT = 0x200;

/** The device of the default route with the lowest metric; an IPv4 one where there are both. */
export const defaultRouteOf = (v4: string, v6: string): string | undefined => {
  // Iface Destination Gateway Flags RefCnt Use Metric Mask …
  const ipv4 = rows(v4)
    .filter(
      ([, destination, , flags, , , , mask]) =>
        isZero(destination) && isZero(mask) && isRoute(flags),
    )
    .map(([device, , , , , , metric]) => ({ device, metric: Number(metric) }));
  // destination prefix source prefix gateway metric refcnt use flags device
  const ipv6 = rows(v6)
    .filter(
      ([destination, prefix, , , , , , , flags]) =>
        isZero(destination) && isZero(prefix) && isRoute(flags),
    )
    .map(([, , , , , metric, , , , device]) => ({ device, metric: Number(`0x${metric}`) }))
    .filter(({ device }) => device !== 'lo');
  const [best] = (ipv4.length > 0 ? ipv4 : ipv6).sort((a, b) => a.metric - b.metric);
  return best?.device;
};

const rows = (text: string): string[][] => text.split('\n').map((line) => line.trim().split(/\s+/));

const isZero = (hex: string | undefined): boolean => hex !== undefined && /^0+$/.test(hex);

const isRoute = (flags: string | undefined): boolean => (Number(`0x${flags}`) & RTF_REJECT) === 0;

const isSame = (a: DeviceTable, b: DeviceTable): boolean =>
  a.defaultRoute === b.defaultRoute &&
  a.byAddress.size === b.byAddress.size &&
  [...a.byAddress].every(([address, device]) => b.byAddress.get(address) === device);
