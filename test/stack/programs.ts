/**
 * Agent and coordinator as their images hold them: bundled. A setup of vitest bundles them once for a run, since tests start hundreds of
 * them, and a bundle starts with half of the CPU (measured: agent 0.48 to 0.22 s). Without it (demo, dev) the sources run as they are.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundle } from '../../deploy/images/bundle.ts';

const PROGRAMS = ['agent', 'coordinator'] as const;
export type Program = (typeof PROGRAMS)[number];

const FOLDER_VARIABLE = 'SDEWAN_TEST_PROGRAMS';
const ROOT = path.resolve(import.meta.dirname, '../..');

/** The file to give to Node. */
export const programFile = (program: Program): string => {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) return path.join(ROOT, program, 'main.ts');
  return path.join(folder, program, 'main.mjs');
};

/** Projects that run at the same time use what the first of them, or `npm test`, has bundled. */
export const setup = async (): Promise<() => Promise<void>> => {
  if (process.env[FOLDER_VARIABLE] !== undefined) return async () => undefined;
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-programs-'));
  await Promise.all(
    PROGRAMS.map((each) => bundle(path.join(ROOT, each, 'main.ts'), path.join(folder, each))),
  );
  process.env[FOLDER_VARIABLE] = folder;
  return () => rm(folder, { recursive: true, force: true });
};
