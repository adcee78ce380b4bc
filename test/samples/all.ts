/** The samples of all kinds, in the order of the registry. */
import { globSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { placeOf } from '#shared/resources/registry.ts';
import type { Samples } from './samples.ts';

const FOLDER = path.join(import.meta.dirname, 'kinds');

const load = async (file: string): Promise<{ samples: Samples; file: string }> => {
  const full = path.join(FOLDER, file);
  const module: { samples: Samples } = await import(pathToFileURL(full).href);
  return { samples: module.samples, file: full };
};

const loaded = await Promise.all(globSync('*.ts', { cwd: FOLDER }).map(load));
loaded.sort((a, b) => placeOf(a.samples.kind) - placeOf(b.samples.kind));

export const allSamples: readonly Samples[] = loaded.map(({ samples }) => samples);

/** @throws Error for a kind without samples */
export const samplesOf = (kind: string): Samples => {
  const found = allSamples.find((samples) => samples.kind === kind);
  if (!found) throw new Error(`test/samples/kinds has no samples of ${kind}`);
  return found;
};

export const sampleFileOf = (kind: string): string =>
  loaded.find(({ samples }) => samples.kind === kind)?.file ?? '';
