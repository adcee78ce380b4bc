/**
 * A container's root folder: its mounts as links at their mount paths, a place for temporary files,
 * nothing else.
 */
import { cp, mkdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export type RootMount = {
  mountPath: string;
  /** The folder or file of this machine. */
  source: string;
  /**
   * A part of a generated volume does not follow the volume's changes (as with kubelets): it is
   * copied.
   */
  copy: boolean;
};

/** Makes the folder anew: what the container's last run wrote outside of its volumes is gone. */
export const buildRoot = async (root: string, mounts: readonly RootMount[]): Promise<void> => {
  await rm(root, { recursive: true, force: true });
  await Promise.all(
    ['tmp', 'root', 'dev'].map(async (name) => await mkdir(join(root, name), { recursive: true })),
  );
  const outerFirst = [...mounts].sort((a, b) => a.mountPath.length - b.mountPath.length);
  for (const { mountPath, source, copy } of outerFirst) {
    const place = join(root, mountPath);
    await mkdir(dirname(place), { recursive: true });
    await rm(place, { recursive: true, force: true }); // a mount over a file of an outer mount
    if (copy) await cp(source, place, { recursive: true, dereference: true });
    else await symlink(source, place);
  }
};
