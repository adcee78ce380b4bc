/**
 * `npm run krew -- URL`: the plugin's archive for this platform, and the manifest of all archives
 * that lie in dist/krew. Those of other platforms are made there, and put beside it. URL: where
 * they will be fetched from.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '#shared/own-version.ts';
import { stringify } from 'yaml';
import { makeExecutable } from '../images/executable.ts';
import { archiveName, BESIDE, isArchive, krewManifest, PROGRAM } from './manifest.ts';

const root = resolve(import.meta.dirname, '../..');
const OUTPUT = join(root, 'dist/krew');

/** The archive's file. @throws when it cannot be made */
export const makeArchive = async (folder: string): Promise<string> => {
  const file = join(folder, archiveName(process.platform, process.arch));
  const program = process.platform === 'win32' ? `${PROGRAM}.exe` : PROGRAM;
  const inside = await mkdtemp(join(tmpdir(), 'sdewan-krew-'));
  try {
    await makeExecutable(join(inside, program));
    await copyFile(join(root, 'LICENSE'), join(inside, 'LICENSE'));
    await mkdir(folder, { recursive: true });
    await promisify(execFile)('tar', ['-czf', file, '-C', inside, program, ...BESIDE]);
    return file;
  } finally {
    await rm(inside, { recursive: true });
  }
};

export const manifestOfArchives = async (folder: string, url: string): Promise<string> => {
  const files = (await readdir(folder)).filter(isArchive);
  const archives = await Promise.all(
    files.map(async (file) => ({
      file,
      sha256: createHash('sha256')
        .update(await readFile(join(folder, file)))
        .digest('hex'),
    })),
  );
  return stringify(krewManifest({ version: VERSION, url, archives }));
};

if (import.meta.main) {
  const [url] = process.argv.slice(2);
  if (!url || !URL.canParse(url)) {
    process.stderr.write('usage: npm run krew -- URL, where the archives will be fetched from\n');
    process.exitCode = 2;
  } else {
    const archive = await makeArchive(OUTPUT);
    const manifest = join(OUTPUT, 'sdewan.yaml');
    await writeFile(manifest, await manifestOfArchives(OUTPUT, url.replace(/\/$/, '')));
    process.stdout.write(`${archive}\n${manifest}\n`);
  }
}
