/** The simulator's own record of every write to a CNF's configuration: who was first, the section's end or the CR's. */
import { z } from 'zod';
import type { Cluster } from 'kind-test-harness';
import { readUci } from '../judge/uci.ts';

const entrySchema = z.object({
  seq: z.number(),
  ms: z.number(),
  event: z.string(),
  package: z.string().optional(),
  text: z.string().optional(),
  service: z.string().optional(),
});
export type JournalEntry = z.infer<typeof entrySchema>;

export const readJournal = async (
  cluster: Cluster,
  target: { namespace: string; pod: string },
): Promise<JournalEntry[]> => {
  const text = await cluster.readFile(
    { ...target, container: 'sdewan' },
    '/simulator/journal.jsonl',
  );
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => entrySchema.parse(JSON.parse(line)));
};

/** When a write first left `package` without any section for which `is` holds, after one that had it; ms since 1970. */
export const goneSince = (
  journal: readonly JournalEntry[],
  packageName: string,
  is: (options: Record<string, string | string[]>) => boolean,
): number | undefined => {
  let since: number | undefined;
  for (const { event, package: written, text, ms } of journal) {
    if (event !== 'write' || written !== packageName) continue;
    const present = readUci(text ?? '').some(({ options }) => is(options));
    if (present) since = undefined;
    else since ??= ms;
  }
  return since;
};
