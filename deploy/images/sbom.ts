/**
 * What is in a bundle that others wrote: a bill of materials in CycloneDX, and the texts of licences. Made of what the bundler has read, so it
 * names what is there and nothing else. The same bundle gives the same files: no times, no random numbers.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';

export const SBOM_FILE = 'sbom.cdx.json';
export const LICENSES_FILE = 'THIRD_PARTY_LICENSES.txt';

export type BundledPackage = {
  /** Where it was read from. */
  folder: string;
  name: string;
  version: string;
  /** As SPDX has it. */
  license: string | undefined;
  /** SHA-512 of the package's archive in hex, as the lockfile has it. */
  sha512: string | undefined;
};

const packageSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
});
const lockSchema = z.object({
  packages: z.record(z.string(), z.looseObject({ integrity: z.string().optional() })),
});

const MODULES = '/node_modules/';
const PACKAGE_FOLDER = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** Of the files that a bundle is made of, sorted by name. `lockfile`: package-lock.json. @throws when a package can't be read */
export const packagesOf = async (
  files: readonly string[],
  lockfile: string,
): Promise<BundledPackage[]> => {
  const lock = lockSchema.parse(JSON.parse(await readFile(lockfile, 'utf8')));
  const folders = new Map<string, string>();
  for (const file of files) {
    const [, folder] = PACKAGE_FOLDER.exec(resolve(file)) ?? [];
    if (folder !== undefined) folders.set(folder, folder.slice(folder.indexOf(MODULES) + 1));
  }
  const packages = await Promise.all(
    [...folders].map(async ([folder, place]) => {
      const text = await readFile(join(folder, 'package.json'), 'utf8');
      const found = packageSchema.parse(JSON.parse(text));
      const { integrity } = lock.packages[place] ?? {};
      return { folder, ...found, license: found.license, sha512: hexOf(integrity) };
    }),
  );
  return packages.sort((one, other) => (purlOf(one) < purlOf(other) ? -1 : 1));
};

const hexOf = (integrity = ''): string | undefined => {
  const [, base64] = /^sha512-(\S+)/.exec(integrity) ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('hex');
};

const purlOf = ({ name, version }: Pick<BundledPackage, 'name' | 'version'>): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** CycloneDX 1.6, without a serial number. */
export const sbomOf = (program: string, packages: readonly BundledPackage[]): object => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': program,
      name: program,
      licenses: licensed('Apache-2.0'),
    },
  },
  components: packages.map((one) => ({
    type: 'library',
    'bom-ref': purlOf(one),
    name: one.name,
    version: one.version,
    purl: purlOf(one),
    ...(one.license !== undefined && { licenses: licensed(one.license) }),
    ...(one.sha512 !== undefined && { hashes: [{ alg: 'SHA-512', content: one.sha512 }] }),
  })),
});

/** One licence by its id, several as an expression. */
const licensed = (license: string): object[] =>
  /[ ()]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }];

const LICENSE_NAME = /^(licen[cs]e|copying|notice)/i;

const licenseTextOf = async ({
  folder,
  name,
  version,
  license,
}: BundledPackage): Promise<string> => {
  const names = (await readdir(folder)).filter((file) => LICENSE_NAME.test(file)).sort();
  const texts = await Promise.all(names.map((file) => readFile(join(folder, file), 'utf8')));
  return [
    `${name} ${version}: ${license ?? 'no licence named'}`,
    ...texts.map((text) => text.trim()),
  ].join('\n\n');
};

/** Writes both into the folder of the bundle. `files`: those that it is made of. */
export const writeSbom = async (
  folder: string,
  program: string,
  files: readonly string[],
): Promise<void> => {
  const lockfile = join(import.meta.dirname, '../../package-lock.json');
  const packages = await packagesOf(files, lockfile);
  const texts = await Promise.all(packages.map(licenseTextOf));
  await writeFile(
    join(folder, SBOM_FILE),
    `${JSON.stringify(sbomOf(program, packages), undefined, 2)}\n`,
  );
  await writeFile(join(folder, LICENSES_FILE), `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
};
