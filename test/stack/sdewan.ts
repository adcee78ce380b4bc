/** `sdewan`, run as an operator does. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Cluster } from 'kind-test-harness';

const PROGRAM = path.resolve(import.meta.dirname, '../../coordinator/cli/main.ts');
const TIMEOUT_MS = 150_000;

/** `said`: on standard error; `out`: on standard output. */
export const sdewan = async (
  { kubeconfig }: Cluster,
  ...args: readonly string[]
): Promise<{ code: number | null; said: string; out: string }> => {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'], KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [said, out] = await Promise.all([text(child.stderr), text(child.stdout)]);
  return { said, out, code: await exit };
};
