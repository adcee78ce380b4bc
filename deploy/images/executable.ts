/**
 * `npm run executable`: the CLI as one executable file with the Node that runs this, for machines
 * without Node. For this platform: another one's is made there.
 *
 *   node deploy/images/executable.ts [FILE]
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { SETTINGS } from './bundle.ts';
import { writeLicenses } from './licenses.ts';

const root = resolve(import.meta.dirname, '../..');
const DEFAULT_FILE = join(root, 'dist/kubectl-sdewan');

/** Its size in bytes; licences of what is in it lie beside it. @throws when it cannot be made */
export const makeExecutable = async (file: string): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'sdewan-executable-'));
  try {
    const main = join(folder, 'sdewan.mjs');
    // One file: there is nothing beside an executable that it could load.
    const { metafile } = await build({
      ...SETTINGS,
      entryPoints: [join(root, 'coordinator/cli/main.ts')],
      outfile: main,
    });
    const settings = join(folder, 'sea.json');
    await writeFile(
      settings,
      JSON.stringify({
        main,
        mainFormat: 'module',
        output: file,
        disableExperimentalSEAWarning: true,
        // Else each start compiles all commands: twice the CPU of it.
        useCodeCache: true,
      }),
    );
    await mkdir(dirname(file), { recursive: true });
    await promisify(execFile)(process.execPath, ['--build-sea', settings]);
    const read = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
    await writeLicenses(dirname(file), [...new Set(read)]);
    return (await stat(file)).size;
  } finally {
    await rm(folder, { recursive: true });
  }
};

if (import.meta.main) {
  const file = resolve(process.argv[2] ?? DEFAULT_FILE);
  const size = await makeExecutable(file);
  process.stdout.write(`${file}: ${Math.round(size / 1_000_000)} MB\n`);
}
