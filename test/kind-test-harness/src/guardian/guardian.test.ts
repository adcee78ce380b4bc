import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { CLUSTER_MARK, findMarked, isAlive } from '../processes.ts';
import { createGuardedDirectory } from './start.ts';

/** Other runs on this machine sweep what was left in the folder that all share. */
let own: string;
beforeAll(async () => {
  own = await mkdtemp(join(tmpdir(), 'guardian-'));
  vi.stubEnv('TMPDIR', own);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(own, { recursive: true, force: true });
});

/** For processes to end on a machine that is busy. */
const POLL = { timeout: 30_000 };

const GUARDED = JSON.stringify(join(import.meta.dirname, 'start.ts'));
/**
 * Guards a folder, starts a marked process that leaves its session, prints the folder, and waits to
 * be killed.
 */
const OWNER_PROGRAM = `
  import { spawn } from 'node:child_process';
  import { createGuardedDirectory } from ${GUARDED};
  const { id, directory } = await createGuardedDirectory();
  spawn('sleep', ['300'], { env: { ${CLUSTER_MARK}: id }, detached: true, stdio: 'ignore' });
  console.log(JSON.stringify({ id, directory }));
  setInterval(() => {}, 1000);`;

type Owner = { process: ChildProcess; id: string; directory: string };

const startOwner = async (): Promise<Owner> => {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', OWNER_PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const started: { id: string; directory: string } = JSON.parse(line);
    return { process: child, ...started };
  }
  throw new Error('the owner ended early');
};

const isGone = async ({ id, directory }: Owner): Promise<boolean> =>
  !existsSync(directory) && (await findMarked(CLUSTER_MARK, id)).length === 0;

describe('a guarded directory', { timeout: 60_000 }, () => {
  it('goes with its processes when its owner is killed', async () => {
    const owner = await startOwner();
    expect(await findMarked(CLUSTER_MARK, owner.id)).toHaveLength(1);
    owner.process.kill('SIGKILL');
    await expect.poll(async () => await isGone(owner), POLL).toBe(true);
  });

  it('goes at the next start when its guardian was killed too', async () => {
    const owner = await startOwner();
    const guardian = Number(await readFile(join(owner.directory, 'guardian.pid'), 'utf8'));
    process.kill(guardian, 'SIGKILL');
    owner.process.kill('SIGKILL');
    await expect.poll(() => isAlive(guardian), POLL).toBe(false);
    expect(await isGone(owner)).toBe(false);

    const next = await createGuardedDirectory();
    expect(await isGone(owner)).toBe(true);
    await next.release();
    expect(existsSync(next.directory)).toBe(false);
  });

  it('is released though its guardian was killed', async () => {
    const guarded = await createGuardedDirectory();
    const guardian = Number(await readFile(join(guarded.directory, 'guardian.pid'), 'utf8'));
    process.kill(guardian, 'SIGKILL');
    await guarded.release();
    expect(existsSync(guarded.directory)).toBe(false);
  });
});
