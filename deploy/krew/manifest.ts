/** The manifest by which krew installs `kubectl sdewan`. Pure. */

import { own } from '#shared/util/own.ts';
import { LICENSES_FILE } from '../images/licenses.ts';

/** One for each platform, made there. */
export type Archive = {
  file: string;
  /** In hex. */
  sha256: string;
};

export type Release = {
  version: string;
  /** Where the archives can be fetched from, without the file's name. */
  url: string;
  archives: readonly Archive[];
};

/** Licences of the project and of what is in the program. */
export const BESIDE = ['LICENSE', LICENSES_FILE];

const NAME = 'sdewan';
export const PROGRAM = 'kubectl-sdewan';
/** As Node calls platforms and architectures -> as krew does, by Go's names. */
const OS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
const ARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const FILE = new RegExp(`^${PROGRAM}_(${Object.values(OS).join('|')})_(amd64|arm64)\\.tar\\.gz$`);

/** @throws for a platform that krew does not know */
export const archiveName = (platform: NodeJS.Platform, arch: NodeJS.Architecture): string => {
  const [os, cpu] = [own(OS, platform), own(ARCH, arch)];
  if (os === undefined || cpu === undefined)
    throw new Error(`no archive for ${platform} on ${arch}`);
  return `${PROGRAM}_${os}_${cpu}.tar.gz`;
};

export const isArchive = (file: string): boolean => FILE.test(file);

/** @throws for a file that is none of these archives */
export const krewManifest = ({ version, url, archives }: Release): object => ({
  apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
  kind: 'Plugin',
  metadata: { name: NAME },
  spec: {
    version: `v${version}`,
    homepage: url,
    shortDescription: 'Looks at the rules of SD-EWAN CNFs',
    description: DESCRIPTION,
    platforms: archives
      .toSorted((one, other) => (one.file < other.file ? -1 : 1))
      .map(({ file, sha256 }) => platformOf(file, { uri: `${url}/${file}`, sha256 })),
  },
});

const DESCRIPTION = `Shows whether the rules of SD-EWAN CNFs are in force, on which pods, and if not, what to change. Traces a packet
through them, compares what is wanted with what CNFs hold, and installs the product and takes it out again.
`;

const platformOf = (file: string, source: { uri: string; sha256: string }): object => {
  const [, os, arch] = FILE.exec(file) ?? [];
  if (os === undefined) throw new Error(`${file} is no archive of the plugin`);
  const bin = os === 'windows' ? `${PROGRAM}.exe` : PROGRAM;
  return {
    selector: { matchLabels: { os, arch } },
    ...source,
    bin,
    files: [bin, ...BESIDE].map((from) => ({ from, to: '.' })),
  };
};
