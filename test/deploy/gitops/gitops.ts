/**
 * What Flux and Argo CD make of objects, by a small program of their own packages, built once into
 * the cache beside the control plane.
 */
import { spawnSync } from 'node:child_process';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';

const GITOPS: GoProgram = {
  name: 'gitops',
  sources: import.meta.dirname,
  binary: 'gitops',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 240,
};
const TIMEOUT_MS = 180_000;

/** A line for each object. @throws when it cannot tell, and says why */
export type Gitops = (args: readonly string[], objects: readonly object[]) => string[];

/** To be called where minutes of waiting for its build are expected. */
export const buildGitops = async (): Promise<Gitops> => {
  const program = await buildGoProgram(GITOPS, { say: console.log });
  return (args, items) => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const run = spawnSync(program, args, { input, encoding: 'utf8', timeout: TIMEOUT_MS });
    if (run.status !== 0)
      throw run.error ?? new Error(`gitops ${args.join(' ')}: ${run.stderr}${run.stdout}`);
    return run.stdout.split('\n').filter((line) => line !== '');
  };
};
