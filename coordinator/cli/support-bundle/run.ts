import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { EXIT, optionsBy, type Run } from '../command.ts';
import { fileProblem, isFileError } from '../files.ts';
import { printText } from '../../views/output/format.ts';
import { printable, table } from '../../views/output/table.ts';
import { statusText, statusViewOf } from '../../views/status.ts';
import { sidesOf } from '../version/run.ts';
import { versionText, versionViewOf } from '../version/view.ts';
import { VERSION } from '#shared/own-version.ts';
import { collect, type Bundle } from './collect.ts';
import { UsageError } from '../../views/usage-error.ts';

const optionsSchema = z.object({
  outputDirectory: z.string().default('sdewan-support'),
  tail: z.coerce.number({ error: '--tail must be a whole number' }).int().min(1),
});

export const runSupportBundle: Run = async ({ options }, io, signal) => {
  const data = optionsBy(optionsSchema, options);
  const { outputDirectory: folder, tail: tailLines } = data;
  return withCluster({ options, io }, async (cluster) => {
    const namespace = namespaceOf(options, cluster.namespace);
    const facts = await gather(cluster.client, { namespace, withRollOuts: true }, signal);
    const sides = await sidesOf(cluster, namespace, { io, signal });
    const bundle = await collect({ cluster, namespace, tailLines, signal });
    const shown = { isWide: true, hasNamespaces: true, now: Date.now() };
    const files = [
      {
        path: 'status.txt',
        what: 'sdewan status',
        text: bundle.shownText(statusText(statusViewOf(facts), shown)),
      },
      {
        path: 'version.txt',
        what: 'sdewan version',
        text: versionText(versionViewOf({ cli: VERSION, ...sides })),
      },
      ...bundle.files,
    ];
    const contents = contentsOf({ ...bundle, files });
    await write(folder, [...files, { path: 'contents.txt', text: contents }]);
    printText(io, contents);
    io.say(`written to ${folder}`);
    return bundle.missing.length === 0 ? EXIT.done : EXIT.unknown;
  });
};

const contentsOf = ({ files, missing }: Pick<Bundle, 'files' | 'missing'>): string =>
  [
    table(
      ['FILE', 'BYTES', 'WHAT'],
      files.map(({ path, what, text }) => [path, `${Buffer.byteLength(text)}`, what]),
    ),
    ...(missing.length === 0 ? [] : ['', 'Not there:', ...missing.map(printable), '']),
  ].join('\n');

/** @throws UsageError where the folder is there */
const write = async (
  folder: string,
  files: readonly { path: string; text: string }[],
): Promise<void> => {
  try {
    await mkdir(folder, { mode: 0o700 });
    for (const { path, text } of files) {
      const file = join(folder, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw new UsageError(
      error.code === 'EEXIST'
        ? `${folder} is there already; specify another one with --output-directory`
        : `${error.path ?? folder}: ${fileProblem(error)}`,
    );
  }
};
