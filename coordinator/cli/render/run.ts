import * as z from 'zod';
import type { NetworkTable } from '#shared/compile/types.ts';
import { EXIT, optionsBy, type Run } from '../command.ts';
import { readManifests } from '../manifest/read.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { printable } from '../../views/output/table.ts';
import { render, renderingText, type Remark } from './render.ts';
import { UsageError } from '../../views/usage-error.ts';

const optionsSchema = formatSchema.extend({
  filename: z.array(z.string(), { error: 'specify files: -f FILE, or -f - for standard input' }),
  networks: z.array(z.string()).optional(),
});

export const runRender: Run = async ({ options }, io) => {
  const data = optionsBy(optionsSchema, options);
  const networks = networksGiven(data.networks);
  const read = await readManifests(data.filename, io);
  if ('code' in read) return read.code;
  const view = render(read.read, networks);
  const table = (): string => renderingText(view);
  print(io, data.output, { data: view, table });
  for (const problem of view.problems) io.say(remarkLine(problem));
  for (const note of view.notes) io.say(`${remarkLine(note)} (only the cluster can tell)`);
  return view.problems.length === 0 ? EXIT.done : EXIT.no;
};

export const remarkLine = ({ file, line, column, field, message }: Remark): string =>
  `${file}:${line}:${column}: ${printable(`${field}: ${message}`)}`;

const PAIR = /^([^=]+)=(\w+)$/;

/** @throws UsageError */
export const networksGiven = (given: readonly string[] | undefined): NetworkTable | undefined =>
  given &&
  new Map(
    given
      .flatMap((list) => list.split(','))
      .map((pair): [string, string] => {
        const [, name, device] = PAIR.exec(pair.trim()) ?? [];
        if (name === undefined || device === undefined)
          throw new UsageError(`--networks ${pair}: must be NAME=INTERFACE, such as ovn-net1=net1`);
        return [name, device];
      }),
  );
