/**
 * Pods' folders are named by uid, since a pod can come back under its name while the old one ends;
 * people look by name.
 */
import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

import type { Pod } from '../kube/objects.ts';

export const BY_NAME = 'by-name';

export const linkByName = async (podsDirectory: string, { metadata }: Pod): Promise<void> => {
  const { namespace, name, uid } = metadata;
  const folder = join(podsDirectory, BY_NAME, namespace);
  await mkdir(folder, { recursive: true });
  await symlink(join('../..', uid), join(folder, `${name}.${uid}`));
  await rename(join(folder, `${name}.${uid}`), join(folder, name));
};

/** Unless the name leads to a successor by now. */
export const unlinkByName = async (podsDirectory: string, { metadata }: Pod): Promise<void> => {
  const { namespace, name, uid } = metadata;
  const link = join(podsDirectory, BY_NAME, namespace, name);
  const target = await readlink(link).catch(() => '');
  if (target.endsWith(uid)) await rm(link, { force: true });
};
