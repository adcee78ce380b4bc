import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createControlGroup } from './control-group.ts';

const MIB = 1_048_576;

it('kills a process that comes to the limit, and no other', async ({ skip }) => {
  const group = await createControlGroup(150 * MIB);
  if (group === undefined) {
    skip('no control group can be made here');
    return;
  }
  const run = (mebibytes: number): number | string | null => {
    const program = `const all = []; for (let at = 0; at < ${mebibytes}; at += 1) all.push(Buffer.alloc(${MIB}, 1))`;
    const [shell = '', ...args] = group.inside([process.execPath, '-e', program]);
    const { signal, status } = spawnSync(shell, args);
    return signal ?? status;
  };
  expect([run(10), await group.kills()]).toEqual([0, 0]);
  expect([run(300), await group.kills()]).toEqual(['SIGKILL', 1]);
  await expect(group.end()).rejects.toThrow('the kernel killed 1 processes');
});
