/**
 * The CLI as one executable file: without Node in the PATH, and as a plugin of the real kubectl.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeExecutable } from '../../../deploy/images/executable.ts';
import { e2eCluster } from '../cluster.ts';

const run = promisify(execFile);
const MANIFESTS = resolve(import.meta.dirname, '../../deploy/manifests');
const files = ['seed-cnf.yaml', 'seed-rules.yaml'].flatMap((file) => ['-f', join(MANIFESTS, file)]);
const program = resolve(import.meta.dirname, '../../../coordinator/cli/main.ts');

describe('the executable', async () => {
  const cluster = await e2eCluster();
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-executable-'));
    const file = join(folder, 'kubectl-sdewan');
    await makeExecutable(file);
    await symlink(file, join(folder, 'kubectl_complete-sdewan'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Nothing else is in the PATH. */
  const alone = (...args: string[]) =>
    run(join(folder, 'kubectl-sdewan'), args, { env: { PATH: folder } });
  const kubectl = ([command = '', ...first]: readonly string[], ...args: string[]) =>
    run(command, [...first, ...args], {
      env: { PATH: folder, KUBECONFIG: cluster.kubeconfig, HOME: folder },
    });

  it('does what the program does from its source', async () => {
    const { stdout } = await run(process.execPath, [program, 'render', ...files]);
    expect((await alone('render', ...files)).stdout).toBe(stdout);
    expect((await alone('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('is called by kubectl, and named so in its help', async () => {
    const { stdout } = await kubectl(cluster.kubectlCommand, 'sdewan', 'status', '--help');
    expect(stdout).toContain('Usage: kubectl sdewan status');
    const checked = await kubectl(cluster.kubectlCommand, 'sdewan', 'check', '--pre').catch(
      (error: { stdout: string }) => error,
    );
    expect(checked.stdout).toMatch(/^✓ API server: v1\./);
  });

  it('is asked by kubectl for completions', async () => {
    const { stdout } = await kubectl(cluster.kubectlCommand, '__complete', 'sdewan', 'ren');
    expect(stdout).toMatch(/^render\b/);
  });
});
