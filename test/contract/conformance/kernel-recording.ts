/**
 * What a device's kernel held of the life of each kind, as a run of `npm run suite -- device
 * --update` found it: a file for each way to write. Where no device can be had, it stands for one
 * as long as the product writes the same.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import type { Looks } from './lives.ts';
import type { Path } from './stage.ts';

const difference = z.strictObject({ added: z.array(z.string()), gone: z.array(z.string()) });
const look = z.strictObject({
  states: z.array(z.string()),
  files: difference,
  kernel: difference,
});
const packets = z.record(z.string(), z.record(z.string(), z.string()));
/** Random changes: after how many all agreed, and what was not so otherwise. */
const walk = z.strictObject({
  changes: z.int(),
  agreed: z.int(),
  wrong: z.array(z.string()),
});
const recording = z.strictObject({
  /** What answered, and when. */
  meta: z.strictObject({ date: z.string(), versions: z.record(z.string(), z.string()) }),
  kinds: z.record(z.string(), z.strictObject({ created: look, changed: look, deleted: look })),
  /** By what was tried, then by the state of the rules: what became of a packet. */
  packets: packets.optional(),
  /** The same for packets through IPsec, by authentication. */
  tunnels: packets.optional(),
  walk: walk.optional(),
  /** Random histories of IPsec after each step of which charon had what the rules say. */
  histories: z.int().optional(),
});
export type KernelRecording = {
  meta: { date: string; versions: Record<string, string> };
  kinds: Record<string, Looks>;
  packets?: z.infer<typeof packets> | undefined;
  tunnels?: z.infer<typeof packets> | undefined;
  walk?: z.infer<typeof walk> | undefined;
  histories?: number | undefined;
};

const fileOf = (name: Path): string =>
  path.join(import.meta.dirname, `../recordings/kernel/${name}.yaml`);

/** undefined where none was made. @throws ZodError for a file of another form */
export const readKernelRecording = (name: Path): KernelRecording | undefined => {
  const file = fileOf(name);
  return existsSync(file) ? recording.parse(parse(readFileSync(file, 'utf8'))) : undefined;
};

export const writeKernelRecording = (name: Path, made: KernelRecording): void =>
  writeFileSync(fileOf(name), stringify(made, { lineWidth: 0, aliasDuplicateObjects: false }));

/** Each program and its version, to be run by a shell on the device. */
export const VERSIONS = `
has() { command -v "$1" >/dev/null 2>&1; }
[ ! -f /etc/openwrt_release ] || { . /etc/openwrt_release; echo "OpenWRT=$DISTRIB_DESCRIPTION"; }
echo "kernel=$(uname -r | cut -d- -f1)"
has fw4 && has nft && echo "nft=$(nft --version | sed 's/nftables v//; s/ .*//')"
has iptables && echo "iptables=$(iptables --version | sed 's/iptables v//')"
has ip && echo "iproute2=$(ip -V | sed 's/.*iproute2-//; s/,.*//')"
[ -e /etc/init.d/keepalived ] && echo "keepalived=$(keepalived --version 2>&1 | sed -n 's/^Keepalived v//p' | cut -d' ' -f1)"
has swanctl && echo "strongSwan=$(swanctl --version 2>/dev/null | sed 's/strongSwan swanctl //')"
true
`;

export const versionsIn = (output: string): Record<string, string> =>
  Object.fromEntries(
    output
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
