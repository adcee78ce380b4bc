/**
 * Agent and coordinator as their images hold them, bundled, and the simulator. A setup of vitest
 * bundles them once for a run, since tests start hundreds of them, and a bundle starts with half of
 * the CPU (measured: agent 0.48 to 0.22 s, simulator 0.23 to 0.11 s). Without it (demo, dev) the
 * sources run as they are.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { bundle } from '../../deploy/images/bundle.ts';

const SIMULATOR = 'test/openwrt/simulator';
/** `bundle`: its folder, below that of all. */
const PROGRAMS = {
  agent: { source: 'agent/main.ts', bundle: 'agent' },
  coordinator: { source: 'coordinator/main.ts', bundle: 'coordinator' },
  // Where factory.ts is, which looks for files beside itself.
  simulator: { source: `${SIMULATOR}/main.ts`, bundle: `${SIMULATOR}/factory` },
} as const;
const SIMULATOR_FILES = ['acl', 'factory/acl', 'factory/config'];
export type Program = keyof typeof PROGRAMS;

const FOLDER_VARIABLE = 'SDEWAN_TEST_PROGRAMS';
const ROOT = path.resolve(import.meta.dirname, '../..');

/** The file to give to Node. */
export const programFile = (program: Program): string => {
  const folder = process.env[FOLDER_VARIABLE];
  const { bundle: within, source } = PROGRAMS[program];
  return folder === undefined ? path.join(ROOT, source) : path.join(folder, within, 'main.mjs');
};

/** Projects that run at the same time use what the first of them, or `npm test`, has bundled. */
export const setup = async (): Promise<() => Promise<void>> => {
  if (process.env[FOLDER_VARIABLE] !== undefined) return async () => undefined;
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-programs-'));
  await Promise.all(
    Object.values(PROGRAMS).map(({ bundle: within, source }) =>
      bundle(path.join(ROOT, source), path.join(folder, within)),
    ),
  );
  for (const files of SIMULATOR_FILES) {
    const from = path.join(SIMULATOR, files);
    await cp(path.join(ROOT, from), path.join(folder, from), { recursive: true });
  }
  process.env[FOLDER_VARIABLE] = folder;
  return () => rm(folder, { recursive: true, force: true });
};
