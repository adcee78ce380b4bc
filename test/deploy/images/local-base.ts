/**
 * A base image where no registry is reached: the Node that runs this program, the libraries of this
 * machine that it is linked to, and busybox. For tests on this machine; releases are built on a
 * published base.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeImageArchive, type ImageEntry } from 'kind-test-harness';

import { runOrThrow, succeeds } from './run.ts';

const BUSYBOX = '/usr/bin/busybox';
/**
 * `--list` is how the loader answers for `ldd`, which is a script for a shell that is not there.
 */
const LDD =
  '#!/bin/sh\nexec "$(busybox ls -d /lib*/ld-linux-*.so.* | busybox head -n1)" --list "$1"\n';

export type LocalBase = {
  /** Full name; its tag changes with what the image is made of. */
  name: string;
  entries: readonly ImageEntry[];
};

/** What the local base is made of here. @throws when busybox is missing or is not static. */
export const planLocalBase = async (): Promise<LocalBase> => {
  await requireStaticBusybox();
  const libraries = await linkedLibraries(process.execPath);
  const applets = (await runOrThrow([BUSYBOX, '--list'])).split('\n');
  const entries: ImageEntry[] = [
    { path: '/usr/local/bin/node', source: process.execPath },
    ...libraries.map((library) => ({ path: library, source: library })),
    { path: '/bin/busybox', source: BUSYBOX },
    ...applets
      .filter((applet) => applet !== '' && applet !== 'busybox')
      .map((applet) => ({ path: `/bin/${applet}`, linkTo: 'busybox' })),
    { path: '/usr/bin/ldd', content: LDD },
    { path: '/etc/passwd', content: 'root:x:0:0:root:/:/bin/sh\n', mode: 0o644 },
    { path: '/etc/group', content: 'root:x:0:\n', mode: 0o644 },
    { path: '/tmp', directory: true, mode: 0o1777 },
  ];
  return { name: `localhost/sdewan-base:${await fingerprint(entries)}`, entries };
};

/** Writes the base as a docker-archive, its programs without symbols where `strip` is there. */
export const writeLocalBase = async (base: LocalBase, archive: string): Promise<void> => {
  const scratch = await mkdtemp(join(tmpdir(), 'sdewan-base-'));
  try {
    const node = join(scratch, 'node');
    const isStripped = await succeeds(['strip', '-o', node, process.execPath]);
    const entries = base.entries.map((entry) =>
      isStripped && 'source' in entry && entry.source === process.execPath
        ? { ...entry, source: node }
        : entry,
    );
    await writeImageArchive(archive, { name: base.name, entries, command: ['node'] });
  } finally {
    await rm(scratch, { recursive: true });
  }
};

/** Files by size and time: reading Node each time would cost more than it saves. */
const fingerprint = async (entries: readonly ImageEntry[]): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(entries));
  for (const entry of entries) {
    if (!('source' in entry)) continue;
    const { size, mtimeMs } = await stat(entry.source);
    hash.update(`${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 12);
};

const requireStaticBusybox = async (): Promise<void> => {
  const isThere = await succeeds([BUSYBOX, 'true']);
  if (!isThere || (await linkedLibraries(BUSYBOX)).length > 0) {
    throw new Error(`the local base needs a static ${BUSYBOX}: install the package busybox-static`);
  }
};

/** Absolute paths that the loader opens for a program; none for a static one. */
const linkedLibraries = async (program: string): Promise<string[]> => {
  const listed = await runOrThrow(['ldd', program]).catch(() => '');
  return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
};
