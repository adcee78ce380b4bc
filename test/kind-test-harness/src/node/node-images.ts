/** Images in the node's containerd. */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { requireInside } from './namespaces.ts';
import { CONTAINERD_SOCKET } from './files.ts';
import type { Snapshotter } from './configs.ts';
import { mergeArchives } from './merge-archives.ts';

/** Overlay mounts do not stack on every file system; copying always works, only slower. */
export const chooseSnapshotter = async (
  initPid: number,
  directory: string,
): Promise<Snapshotter> => {
  const probe = `set -e; cd "$1"; mkdir -p probe/lower probe/upper probe/work probe/on
mount -t overlay overlay -o lowerdir=probe/lower,upperdir=probe/upper,workdir=probe/work probe/on
umount probe/on`;
  return await requireInside(initPid, ['sh', '-c', probe, 'sh', directory]).then(
    () => 'overlayfs',
    () => 'native',
  );
};

export type ImageImport = {
  initPid: number;
  /** The platform of the node, for a merged archive. */
  runDirectory: string;
  snapshotter: Snapshotter;
};

/** Imports docker-archives where the kubelet finds them. @throws when one cannot be read. */
export const importImages = async (
  node: ImageImport,
  archives: readonly string[],
): Promise<void> => {
  if (archives.length < 2) {
    for (const archive of archives) await importArchive(node, archive);
    return;
  }
  const merged = join(node.runDirectory, `images-${randomBytes(4).toString('hex')}.tar`);
  try {
    const isMerged = await mergeArchives(archives, merged);
    for (const archive of isMerged ? [merged] : archives) await importArchive(node, archive);
  } finally {
    await rm(merged, { force: true });
  }
};

const importArchive = async (
  { initPid, snapshotter }: ImageImport,
  archive: string,
): Promise<void> => {
  const ctr = ['ctr', `--address=${CONTAINERD_SOCKET}`, '--namespace=k8s.io'];
  const image = ['images', 'import', `--snapshotter=${snapshotter}`, archive];
  await requireInside(initPid, [...ctr, ...image]);
};
