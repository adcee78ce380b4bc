/** Images in the node's containerd. */
import { requireInside } from './namespaces.ts';
import { CONTAINERD_SOCKET } from './files.ts';
import type { Snapshotter } from './configs.ts';

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

/** Imports docker-archives where the kubelet finds them. @throws when one cannot be read. */
export const importImages = async (
  initPid: number,
  snapshotter: Snapshotter,
  archives: readonly string[],
): Promise<void> => {
  for (const archive of archives) {
    const ctr = ['ctr', `--address=${CONTAINERD_SOCKET}`, '--namespace=k8s.io'];
    await requireInside(initPid, [
      ...ctr,
      'images',
      'import',
      `--snapshotter=${snapshotter}`,
      archive,
    ]);
  }
};
