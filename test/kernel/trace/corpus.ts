/**
 * Recorded judgements of the kernel: lines of JSON, one scene each, compressed. `record.ts` makes
 * the file.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as z from 'zod';

const packetSchema = z.object({
  in: z.string().exactOptional(),
  source: z.string(),
  destination: z.string(),
  protocol: z.int(),
  sourcePort: z.int().exactOptional(),
  destinationPort: z.int().exactOptional(),
  icmp: z.object({ type: z.int(), code: z.int() }).exactOptional(),
  mac: z.string().exactOptional(),
  dscp: z.int(),
});

const judgementSchema = z.object({
  marks: z.array(z.string()),
  dnat: z.string(),
  filter: z.string(),
  verdict: z.string(),
  snat: z.string(),
  left: z.string(),
});

const recordedSchema = z.object({
  seed: z.int(),
  sections: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      anonymous: z.boolean(),
      options: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    }),
  ),
  packets: z.array(packetSchema),
  isRefused: z.boolean().describe('nft does not take what firewall4 has rendered.'),
  listing: z.string().describe('The rules of the kernel, as nft printed them.'),
  judgements: z.array(judgementSchema.nullable()).describe('Null where the kernel was not heard.'),
});
export type Recorded = z.infer<typeof recordedSchema>;

const FILE = join(import.meta.dirname, 'corpus.jsonl.gz');

export const readCorpus = (): readonly Recorded[] =>
  !existsSync(FILE)
    ? []
    : gunzipSync(readFileSync(FILE))
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => recordedSchema.parse(JSON.parse(line)));

/** @param scenes as `readCorpus` gives them */
export const writeCorpus = (scenes: readonly object[]): void => {
  const lines = scenes.map((scene) => `${JSON.stringify(scene)}\n`).join('');
  writeFileSync(FILE, gzipSync(lines, { level: 9 }));
};
