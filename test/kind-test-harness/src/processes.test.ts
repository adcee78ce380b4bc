import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';

import { findMarked, killMarked } from './processes.ts';

describe('killMarked', () => {
  it('ends a marked process with its descendants in other sessions, and nothing else', async () => {
    const mark = { KTH_TEST_MARK: String(process.pid) };
    const stranger = spawn('sleep', ['30']);
    const marked = spawn('sh', ['-c', 'setsid sleep 30 & sleep 30'], {
      env: { ...process.env, ...mark },
    });
    await expect
      .poll(async () => (await findMarked('KTH_TEST_MARK', mark.KTH_TEST_MARK)).length, {
        timeout: 8000,
      })
      .toBe(3);

    const exit = once(marked, 'exit');
    await killMarked('KTH_TEST_MARK', mark.KTH_TEST_MARK);
    await exit;

    expect(await findMarked('KTH_TEST_MARK', mark.KTH_TEST_MARK)).toEqual([]);
    expect(stranger.exitCode).toBeNull();
    stranger.kill();
  });
});
