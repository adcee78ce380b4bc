/**
 * Information about an OpenWRT, beyond the rules: for people who look at a CNF, never for a
 * decision. Bounded, and without counters and times, so that it changes only when something
 * happens. Never holds a secret.
 */
import * as z from 'zod';
import { plainText } from '../util/plain-text.ts';

/** As JSON. A few kilobytes for a site with some interfaces and tunnels. */
export const MAX_INFORMATION_BYTES = 16_384;

/** OpenWRT's administrator chooses it. */
const name = (max: number) => z.string().max(max).overwrite(plainText);

export const interfaceSchema = z.object({
  name: name(64).describe('As OpenWRT calls it.'),
  device: name(64).optional().describe('Network device.'),
  up: z.boolean(),
  addresses: z.array(name(64)).max(16).describe('With prefix length, where OpenWRT tells it.'),
});

export const routeSchema = z.object({
  target: name(64).describe('Address and prefix length.'),
  gateway: name(64).optional(),
  interface: name(64),
  metric: z.int().optional(),
});

export const tunnelSchema = z.object({
  name: name(128).describe("The remote's name, a dash, and the connection's."),
  up: z
    .boolean()
    .describe('Its IKE connection is established; with swanctl its CHILD_SA is installed.'),
  state: name(32).describe(
    "strongSwan's word, `DOWN` when it does not mention the tunnel, `UNKNOWN` when no source tells.",
  ),
  starts: z
    .boolean()
    .optional()
    .describe('This side brings it up: at once, or with the first packet.'),
  words: name(128)
    .optional()
    .describe("Of one that this side brings up, and that is down: strongSwan's last words of it."),
});

export const wanSchema = z.object({
  interface: name(64),
  up: z.boolean(),
  status: name(32).describe("mwan3's word: online, offline, disabled …"),
});

export const leftOverSchema = z.object({
  package: name(64).describe("Of UCI, or the collection of ICN's REST."),
  type: name(64),
  name: name(128).describe("As ICN's REST knows it: the name of the rule that it was made for."),
});

export const firewallSchema = z
  .enum(['fw3', 'fw4'])
  .describe('What makes rules of the kernel: firewall4 for nftables, firewall3 for iptables.');

const sizeOf = (value: object): number => Buffer.byteLength(JSON.stringify(value));

export const informationSchema = z
  .object({
    firewall: firewallSchema.optional(),
    interfaces: z.array(interfaceSchema).max(64).describe('Interfaces of OpenWRT.'),
    routes: z.array(routeSchema).max(128).describe('Routes that OpenWRT keeps on them.'),
    tunnels: z.array(tunnelSchema).max(128).describe('IPsec tunnels that are configured or up.'),
    wans: z.array(wanSchema).max(64).describe('Interfaces that mwan3 tracks.'),
    leftOvers: z
      .array(leftOverSchema)
      .max(32)
      .optional()
      .describe("Sections that ICN's controller made for rules that do not exist."),
    leftOut: z.int().min(0).describe('Entries of these lists that were too many to be reported.'),
  })
  .refine((value) => sizeOf(value) <= MAX_INFORMATION_BYTES, {
    error: `at most ${MAX_INFORMATION_BYTES} bytes`,
  });
export type Information = z.infer<typeof informationSchema>;

type Lists = Omit<Information, 'leftOut'>;

const LIMITS = { interfaces: 64, routes: 128, tunnels: 128, wans: 64, leftOvers: 32 } as const;

const ROOM = MAX_INFORMATION_BYTES - 64;

/**
 * At most what the schema and the size allow; routes, of which there can be most, go first.
 * `leftOut`: entries that went before.
 */
export const bounded = ({
  leftOut = 0,
  firewall,
  ...all
}: Lists & { leftOut?: number }): Information => {
  const leftOvers = all.leftOvers?.slice(0, LIMITS.leftOvers) ?? [];
  const kept = {
    ...(firewall && { firewall }),
    interfaces: all.interfaces.slice(0, LIMITS.interfaces),
    wans: all.wans.slice(0, LIMITS.wans),
    tunnels: all.tunnels.slice(0, LIMITS.tunnels),
    routes: all.routes.slice(0, LIMITS.routes),
    ...(leftOvers.length > 0 && { leftOvers }),
  };
  if (sizeOf(kept) > ROOM) kept.tunnels = kept.tunnels.map(({ words: _words, ...rest }) => rest);
  for (const list of [kept.routes, leftOvers, kept.tunnels, kept.interfaces, kept.wans])
    while (list.length > 0 && sizeOf(kept) > ROOM) list.pop();
  return { ...kept, leftOut: leftOut + countOf(all) - countOf(kept) };
};

const countOf = ({ interfaces, routes, tunnels, wans, leftOvers = [] }: Lists): number =>
  interfaces.length + routes.length + tunnels.length + wans.length + leftOvers.length;
