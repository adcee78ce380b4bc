/** Paths inside another root. */
import { readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** As many as the kernel follows. */
const MAX_LINKS = 40;

/**
 * Where a path leads for a process whose root is `root`, as this process sees it: links to absolute
 * paths begin at that root again, and nothing leads out of it. A path that does not exist resolves
 * as far as it does.
 */
export const resolveIn = async (root: string, path: string): Promise<string> => {
  const pending = path.split('/');
  let resolved = '/';
  for (let links = 0; pending.length > 0;) {
    const part = pending.shift() ?? '';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      resolved = dirname(resolved);
      continue;
    }
    const next = join(resolved, part);
    const target = await readlink(join(root, next)).catch(() => undefined);
    if (target === undefined) {
      resolved = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new Error(`${path} leads through too many symbolic links`);
    if (target.startsWith('/')) resolved = '/';
    pending.unshift(...target.split('/'));
  }
  return join(root, resolved);
};
