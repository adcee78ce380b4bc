/**
 * What is in an image beside the bundle: Node with the libraries that are compiled into it, and each file that came from the base, by its hash and,
 * where the base has a package manager, with its package. Runs in the base, by Node alone, and imports nothing.
 *   node runtime-sbom.ts /runtime /runtime/app/runtime.cdx.json
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type RuntimeFile = {
  /** In the image. */
  path: string;
  sha256: string;
  /** What the base's package manager calls the owner, and its version. */
  owner: { type: 'deb' | 'apk'; name: string; version: string } | undefined;
};

/** CycloneDX 1.6, without times and random numbers. `versions`: `process.versions`. */
export const runtimeSbomOf = (
  versions: Readonly<Record<string, string | undefined>>,
  files: readonly RuntimeFile[],
): object => {
  const { node, modules: _abi, napi: _api, ...libraries } = versions;
  const owners = files.flatMap(({ owner }) => owner ?? []);
  const packages = new Map(owners.map((owner) => [purlOf(owner.type, owner), owner]));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'container', 'bom-ref': 'runtime', name: 'runtime' } },
    components: [
      generic('application', 'node', node ?? ''),
      ...Object.entries(libraries)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, version = '']) => generic('library', name, version)),
      ...[...packages].map(([purl, { name, version }]) => ({
        type: 'library',
        'bom-ref': purl,
        name,
        version,
        purl,
      })),
      ...files.map(({ path, sha256, owner }) => ({
        type: 'file',
        'bom-ref': `file:${path}`,
        name: path,
        hashes: [{ alg: 'SHA-256', content: sha256 }],
        ...(owner && { properties: [{ name: 'package', value: purlOf(owner.type, owner) }] }),
      })),
    ],
  };
};

const purlOf = (type: string, { name, version }: { name: string; version: string }): string =>
  `pkg:${type}/${type === 'deb' ? 'debian/' : type === 'apk' ? 'alpine/' : ''}${encodeURIComponent(name)}@${encodeURIComponent(version)}`;

const generic = (type: string, name: string, version: string): object => {
  const purl = purlOf('generic', { name, version });
  return { type, 'bom-ref': purl, name, version, purl };
};

/** Undefined where there is no such program, or it does not know. */
const asked = (command: string, ...args: readonly string[]): string | undefined => {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
};

/** Where /lib is a link to /usr/lib, a package may list either. */
const ownerOf = (path: string): RuntimeFile['owner'] => {
  for (const place of [path, `/usr${path}`, path.replace(/^\/usr/, '')]) {
    const debian = /^([^:\s]+)(?::\w+)?: /.exec(asked('dpkg-query', '-S', place) ?? '')?.[1];
    const version = debian && asked('dpkg-query', '-W', '-f', '${Version}', debian);
    if (debian && version) return { type: 'deb', name: debian, version };
    const alpine = / is owned by (\S+)-(\d\S*-r\d+)\s*$/.exec(
      asked('apk', 'info', '-W', place) ?? '',
    );
    if (alpine) return { type: 'apk', name: alpine[1] ?? '', version: alpine[2] ?? '' };
  }
  return undefined;
};

/** Regular files below the folder, sorted. */
export const filesBelow = (root: string): RuntimeFile[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => {
      const path = file.slice(root.length);
      const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
      return { path, sha256, owner: ownerOf(path) };
    });

if (import.meta.main) {
  const [root = '', output = ''] = process.argv.slice(2);
  const sbom = runtimeSbomOf(process.versions, filesBelow(root));
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, `${JSON.stringify(sbom, undefined, 2)}\n`);
}
