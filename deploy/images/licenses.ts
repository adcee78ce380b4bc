/**
 * The licences of what a bundle holds of others, with name and version of each package. Made of
 * what the bundler has read, so it names what is there and nothing else. The same bundle gives the
 * same file.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';

export const LICENSES_FILE = 'THIRD_PARTY_LICENSES.txt';

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().default('no licence named'),
});

const PACKAGE_FOLDER = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENSE_NAME = /^(licen[cs]e|copying|notice)/i;

const licenseOf = async (folder: string): Promise<string> => {
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  const { name, version, license } = packageSchema.parse(JSON.parse(text));
  const files = (await readdir(folder)).filter((file) => LICENSE_NAME.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return [`${name} ${version}: ${license}`, ...texts.map((one) => one.trim())].join('\n\n');
};

/** Writes them into the bundle's folder. `files`: what it is made of. @throws if unreadable */
export const writeLicenses = async (folder: string, files: readonly string[]): Promise<void> => {
  const packages = files.flatMap((file) => PACKAGE_FOLDER.exec(resolve(file))?.[1] ?? []);
  const texts = await Promise.all([...new Set(packages)].sort().map(licenseOf));
  await writeFile(join(folder, LICENSES_FILE), `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
};
