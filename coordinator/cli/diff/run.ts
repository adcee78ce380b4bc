import * as z from 'zod';
import { withCluster } from '../cluster/connect.ts';
import { gather, rightsOf } from '../cluster/facts.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { rulesInFiles } from '../apply/files.ts';
import { EXIT, UsageError, type Run } from '../command.ts';
import { formatSchema, formatted } from '../output/format.ts';
import { unseen } from '../status/answer.ts';
import { diffText, diffViewOf } from './view.ts';

const optionsSchema = formatSchema.extend({
  filename: z.array(z.string(), { error: 'specify files: -f FILE, or -f - for standard input' }),
});

export const runDiff: Run = ({ options }, io, signal) => {
  const { data, error } = optionsSchema.safeParse(options);
  if (!data) throw new UsageError(error.issues.map(({ message }) => message).join('; '));
  return withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const read = await rulesInFiles(data.filename, io, namespaceOf(options, usual) ?? usual);
    // Nothing has been compared: that is neither equal nor different.
    if ('code' in read) return EXIT.usage;
    const places = new Set(read.rules.map(({ metadata }) => metadata.namespace));
    const [only] = places;
    const namespace = places.size === 1 ? only : undefined;
    const facts = await gather(client, { namespace, withPods: true }, signal);
    const view = diffViewOf(facts, read.rules);
    io.out(formatted(data.output, { data: view, table: () => diffText(view) }));
    const lines = unseen({ notSeen: rightsOf(facts.lacking), absentKinds: [...facts.absent] });
    for (const line of lines) io.say(line);
    if (view.different) return EXIT.no;
    return facts.lacking.some(({ resource }) => resource !== 'pods') ? EXIT.unknown : EXIT.done;
  });
};
