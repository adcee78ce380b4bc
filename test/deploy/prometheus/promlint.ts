/**
 * What promtool says of metrics and alarms, by a small program of the same packages of Prometheus,
 * built once into the cache beside the control plane.
 */
import { spawnSync } from 'node:child_process';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';

const PROMLINT: GoProgram = {
  name: 'promlint',
  sources: import.meta.dirname,
  binary: 'promlint',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 30,
};
const TIMEOUT_MS = 60_000;
const PROBLEMS = 1;

/** One problem, or alarm that fires, a line. @throws when it cannot tell, and says why */
export type Promlint = (what: 'metrics' | 'rules' | 'firing', text: string) => string[];

/**
 * To be called where a minute of waiting for its build is expected. @throws when it cannot be
 * built, and says why
 */
export const buildPromlint = async (): Promise<Promlint> => {
  const program = await buildGoProgram(PROMLINT, { say: console.log });
  return (what, input) => {
    const run = spawnSync(program, [what], { input, encoding: 'utf8', timeout: TIMEOUT_MS });
    if (run.status !== 0 && run.status !== PROBLEMS)
      throw run.error ?? new Error(`promlint ${what}: ${run.stderr}`);
    return run.stdout.split('\n').filter((line) => line !== '');
  };
};
