import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { withFileLock } from './file-lock.ts';

/** Larger than any pid that Linux gives. */
const DEAD_PID = 2 ** 22 + 1;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'file-lock-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

const quiet = { say: () => {} };

describe('withFileLock', () => {
  it('lets one in at a time and says that it waits', async () => {
    const path = join(directory, 'lock');
    const order: string[] = [];
    const said: string[] = [];
    const entered = Promise.withResolvers<void>();
    const secondWaits = Promise.withResolvers<void>();
    const first = withFileLock(path, quiet, async () => {
      order.push('first in');
      entered.resolve();
      await secondWaits.promise;
      order.push('first out');
    });
    await entered.promise;
    const say = (line: string): void => {
      said.push(line);
      secondWaits.resolve();
    };
    await withFileLock(path, { say }, async () => {
      order.push('second');
    });
    await first;
    expect(order).toEqual(['first in', 'first out', 'second']);
    expect(said).toHaveLength(1);
  });

  it('takes over from a process that is gone', async () => {
    const path = join(directory, 'lock');
    await writeFile(path, String(DEAD_PID));
    expect(await withFileLock(path, quiet, async () => 'in')).toBe('in');
  });

  it('leaves nothing behind, not even after a failure', async () => {
    const failing = withFileLock(join(directory, 'lock'), quiet, async () => {
      throw new Error('work failed');
    });
    await expect(failing).rejects.toThrow('work failed');
    expect(await readdir(directory)).toEqual([]);
  });
});
