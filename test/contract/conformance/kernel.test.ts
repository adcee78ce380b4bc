/**
 * What the kernel does with a rule of each kind once it is created, changed and deleted: on the
 * device that the run was given (`npm run suite device`), else as the recording of such a run has
 * it, if the product writes what it wrote then.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allSamples } from '../../samples/all.ts';
import { compatibilityPage } from './compatibility.ts';
import { problemsInKernel, problemsOf } from './in-kernel.ts';
import { knownProblems } from './known.ts';
import {
  readKernelRecording,
  VERSIONS,
  versionsIn,
  writeKernelRecording,
} from './kernel-recording.ts';
import { live, OPERATIONS, type Looks } from './lives.ts';
import { namedDevice, type NamedDevice } from './named-device.ts';
import { onDevice, onSimulator, PATHS, recordedPath, type Path, type Stage } from './stage.ts';

const given = namedDevice();
const kinds = allSamples.map(({ kind }) => kind);
const TIMEOUT_MS = 300_000;

const devices = given?.inside ? [{ device: given, path: recordedPath(given) }] : [];

describe.each(devices)('in the kernel of $device.url, $path', ({ device, path }) => {
  const found: Record<string, Looks> = {};
  let stage: Stage;
  beforeAll(async () => {
    stage = await onDevice(device);
  });
  afterAll(async () => {
    await stage.leave();
    if (process.env['UPDATE'] === '1') record(device, path, found);
  });

  it.each(kinds)(
    '%s is in force as created and as changed, and leaves nothing behind',
    async (kind) => {
      const looks = await live(
        stage,
        kind,
        (operation, kernel) => problemsInKernel(path, kind, operation, kernel).length === 0,
      );
      found[kind] = looks;
      expect(problemsOf(path, kind, looks)).toEqual(knownProblems(path, kind));
    },
    TIMEOUT_MS,
  );
});

const recorded = given ? [] : PATHS;

describe.each(recorded)('in the kernel, as recorded: %s', (path) => {
  const recording = readKernelRecording(path);
  let stage: Stage;
  beforeAll(async () => {
    stage = await onSimulator(path);
  });
  afterAll(() => stage.leave());

  it.each(kinds)('%s is in force as created and as changed, and leaves nothing behind', (kind) => {
    const looks = recording?.kinds[kind];
    if (!looks) throw new Error(`no recording of ${kind} by ${path}`);
    expect(problemsOf(path, kind, looks)).toEqual(knownProblems(path, kind));
  });

  it.each(kinds)('%s is written as it was when the kernel was looked at', async (kind) => {
    const now = await live(stage, kind, () => true);
    const written = (looks: Looks | undefined) =>
      OPERATIONS.map((each) => [looks?.[each].files.added.toSorted(), looks?.[each].files.gone]);
    // Else the recording stands for another product: record anew.
    expect(written(now)).toEqual(written(recording?.kinds[kind]));
  });
});

it.each(recorded.slice(0, 1))('docs/compatibility.md is what the recordings say', () => {
  const { now, kept } = compatibilityPage();
  // `npm run suite -- device --update` writes it.
  expect(kept).toBe(now);
});

/** What another run found of other kinds stays. */
const record = (device: NamedDevice, path: Path, found: Readonly<Record<string, Looks>>): void => {
  const before = readKernelRecording(path);
  const all = { ...before?.kinds, ...found };
  writeKernelRecording(path, {
    ...before,
    meta: {
      date: new Date().toISOString().slice(0, 10),
      versions: versionsIn(device.inside?.(VERSIONS) ?? ''),
    },
    kinds: Object.fromEntries(kinds.flatMap((kind) => (all[kind] ? [[kind, all[kind]]] : []))),
  });
};
