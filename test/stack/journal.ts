/**
 * The simulator's own record of every write to a CNF's configuration: who was first, the section's
 * end or the CR's?
 */
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import type { JournalEntry } from '../openwrt/checks/in-force.ts';

const entrySchema = z.object({
  seq: z.number(),
  ms: z.number(),
  event: z.string(),
  package: z.string().optional(),
  text: z.string().optional(),
  service: z.string().optional(),
  ok: z.boolean().optional(),
  by: z.object({ call: z.string() }).optional(),
});

export const readJournal = async (
  cluster: Cluster,
  target: { namespace: string; pod: string },
): Promise<JournalEntry[]> => {
  const text = await cluster.readFile(
    { ...target, container: 'sdewan' },
    '/simulator/journal.jsonl',
  );
  return entriesIn(text.split('\n'));
};

/** Entries of whole lines of a journal. @throws Error where one is none */
export const entriesIn = (lines: readonly string[]): JournalEntry[] =>
  lines.filter((line) => line !== '').map((line) => entrySchema.parse(JSON.parse(line)));
