/**
 * Network devices of the CNF pod in rule specs, and the zone that stands for a device where the
 * firewall wants a zone.
 */
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { UciSection } from '../uci/model.ts';
import type { DeviceUse } from './kind.ts';
import { section } from './render.ts';
import { optionalText, text } from './schema.ts';
import type { TextRule } from './schema.ts';

/** The device of the default route. */
export const DEFAULT_DEVICE = '#default';

/** Linux takes no longer names than 15 characters. */
const NAME = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}';

const deviceRule = (others: string, must: string): TextRule => ({
  must: `must be a network device such as eth0, ${must}`,
  maxLength: 46,
  pattern: `${NAME}|${others}`,
  holds: (value) =>
    !/^#[0-9a-fA-F:.]/.test(value) || value === DEFAULT_DEVICE || isIP(value.slice(1)) !== 0,
});

const BY_ADDRESS = deviceRule(
  '#default|#[0-9a-fA-F:.]+',
  '#default (that of the default route) or # and an address (that which has it)',
);
export const device = () => text(BY_ADDRESS);
export const optionalDevice = () => optionalText(BY_ADDRESS);
/** For NAT: `#source` is the device that has the new source address. */
export const optionalNatDevice = () =>
  optionalText(
    deviceRule(
      '#default|#source|#[0-9a-fA-F:.]+',
      '#default (that of the default route), #source (that which has the new source address) or # and an address (that which has it)',
    ),
  );

export const deviceUse = (path: string, name: string | undefined): DeviceUse[] =>
  name === undefined ? [] : [{ path, device: name }];

const hashOf = (name: string): string =>
  createHash('sha256').update(name).digest('hex').slice(0, 8);

/**
 * A firewall zone that is nothing but a device. It comes behind all other zones and has no policies
 * of its own, so that packets which reach it fare as they would without it.
 */
export const deviceZone = (name: string): { zone: string; section: UciSection } => {
  // At most 11 characters, and a letter first.
  const zone = `sd${hashOf(name)}`;
  return {
    zone,
    section: section('zone', `sdewan_device_${zone}`, { name: zone, device: [name] }),
  };
};
