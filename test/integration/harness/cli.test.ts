import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PROGRAM = join(import.meta.dirname, '../../kind-test-harness/bin/kind-test-harness.mjs');
/** A cluster's start on a machine that is busy. */
const TIMEOUT_MS = 120_000;

/** Commands are about the cluster that was started in the folder in which they are given. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cli-'));
});
afterAll(async () => {
  await harness('down');
  await rm(folder, { recursive: true });
});

const harness = async (...args: string[]): Promise<{ code: unknown; out: string; err: string }> => {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, out, err };
};

it(
  'keeps a cluster up in the background, works on it with kubectl, and ends it',
  async () => {
    const up = await harness('up', '--detach');
    expect(up).toMatchObject({ code: 0, err: expect.stringContaining('control plane: ') });
    const kubeconfig = /KUBECONFIG=(\S+)/.exec(up.out)?.[1] ?? '';
    expect((await harness('status')).out).toContain(`KUBECONFIG=${kubeconfig}`);

    expect(await harness('kubectl', 'create', 'namespace', 'mine')).toMatchObject({
      code: 0,
      out: 'namespace/mine created\n',
    });
    expect(await harness('kubectl', 'get', 'pod', 'none')).toMatchObject({
      code: 1,
      err: 'Error from server (NotFound): pods "none" not found\n',
    });
    expect(await harness('clean-cache')).toMatchObject({
      code: 1,
      err: expect.stringContaining('clusters use the cache'),
    });

    expect((await harness('down')).code).toBe(0);
    expect(existsSync(dirname(kubeconfig))).toBe(false);
  },
  TIMEOUT_MS,
);

it.each([
  [['what'], 2, 'usage: kind-test-harness COMMAND'],
  [['up', '--backend', 'cloud'], 1, 'there is no backend cloud: process, node'],
  [['kubectl', '--cluster', 'none', 'get', 'pods'], 1, 'no cluster none runs'],
])('refuses %j', async (args, code, message) => {
  expect(await harness(...args)).toMatchObject({ code, err: expect.stringContaining(message) });
});
