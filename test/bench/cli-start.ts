/**
 * How long `sdewan --version` takes: `node test/bench/cli-start.ts [starts]`. In a clone, where a first Node finds the pinned one, as in the coordinator's image, as one executable file,
 * and Node alone beside them, in turn.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../deploy/images/bundle.ts';
import { makeExecutable } from '../../deploy/images/executable.ts';

const STARTS = Number(process.argv[2] ?? 20);
const root = join(import.meta.dirname, '../..');
const cli = join(root, 'coordinator/cli/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'sdewan-bench-'));
const image = join(folder, 'image');
const executable = join(folder, 'sdewan');
const ways: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'Node alone': [process.execPath, '-e', '0'],
  'in a clone': [process.execPath, join(root, 'coordinator/cli/sdewan.mjs'), '--version'],
  'in the image': [process.execPath, join(image, 'sdewan.mjs'), '--version'],
  'one executable file': [executable, '--version'],
};

const startMs = ([program, ...args]: readonly [string, ...string[]]): number => {
  const began = performance.now();
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return performance.now() - began;
};

try {
  await bundle(join(root, 'coordinator/main.ts'), image, { sdewan: cli });
  await makeExecutable(executable);
  const took = new Map<string, number[]>();
  for (let start = 0; start < STARTS; start += 1)
    for (const [way, command] of Object.entries(ways))
      took.set(way, [...(took.get(way) ?? []), startMs(command)]);
  for (const [way, all] of took) {
    const ordered = all.toSorted((a, b) => a - b);
    const [median = 0, longest = 0] = [ordered[STARTS >> 1], ordered.at(-1)];
    console.log(`${way}: ${median.toFixed(0)} ms, at most ${longest.toFixed(0)}`);
  }
  console.log(`load ${loadavg()[0]?.toFixed(1)}`);
} finally {
  rmSync(folder, { recursive: true });
}
