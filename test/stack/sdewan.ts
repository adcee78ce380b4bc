/** `sdewan`, run as an operator does. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Cluster } from 'kind-test-harness';

const PROGRAM = path.resolve(import.meta.dirname, '../../coordinator/cli/main.ts');
const TIMEOUT_MS = 150_000;

const started = ({ kubeconfig }: Cluster, args: readonly string[]) =>
  spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'], KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });

/** One that goes on until Ctrl-C; resolves with the first that it prints, or when it has ended. */
export const beginSdewan = async (
  cluster: Cluster,
  ...args: readonly string[]
): Promise<{ out: string; end: () => Promise<{ code: number | null; said: string }> }> => {
  const child = started(cluster, args);
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const said = text(child.stderr);
  const out = await new Promise<string>((resolve) => {
    child.stdout.once('data', (chunk) => resolve(String(chunk)));
    child.stdout.once('end', () => resolve(''));
  });
  return {
    out,
    end: async () => {
      child.kill('SIGINT');
      return { code: await exit, said: await said };
    },
  };
};

/** `said`: on standard error; `out`: on standard output. */
export const sdewan = async (
  cluster: Cluster,
  ...args: readonly string[]
): Promise<{ code: number | null; said: string; out: string }> => {
  const child = started(cluster, args);
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [said, out] = await Promise.all([text(child.stderr), text(child.stdout)]);
  return { said, out, code: await exit };
};
