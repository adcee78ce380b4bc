/** The real Helm, built of its own sources once, into the cache beside the control plane. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';
import { DEPLOY } from './installation.ts';

const HELM: GoProgram = {
  name: 'helm',
  sources: path.resolve(import.meta.dirname, '../deploy/helm-binary'),
  package: 'helm.sh/helm/v4/cmd/helm',
  binary: 'helm',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 235,
};
export const CHART = path.join(DEPLOY, 'chart');
const TIMEOUT_MS = 330_000;

/** `said`: on standard error; `out`: on standard output. */
export type HelmResult = { code: number | null; out: string; said: string };
/** Runs whatever the exit code is. */
export type Helm = (...args: readonly string[]) => Promise<HelmResult>;

/**
 * To be called where a minute of waiting for its build is expected. @throws when it cannot be
 * built, and says why
 */
export const buildHelm = (): Promise<string> => buildGoProgram(HELM, { say: console.log });

/** `home`: a folder for what it keeps of its user. */
export const helmOf =
  (program: string, home: string, kubeconfig = ''): Helm =>
  async (...args) => {
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [said, out] = await Promise.all([text(child.stderr), text(child.stdout)]);
    return { said, out, code: await exit };
  };
