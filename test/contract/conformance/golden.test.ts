/** The golden UCI of every kind, through every way to write: what the judge reads in the golden file, it reads on the OpenWRT. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { readUci } from '../../judge/uci.ts';
import { NEVER, shown } from './fixtures.ts';
import { paths } from './paths.ts';

const FOLDER = join(import.meta.dirname, '../../golden/cases');
const cases = readdirSync(FOLDER).filter((name) => name.endsWith('.uci'));

/** Package -> its sections, as the judge reads them. */
const goldenOf = (name: string): Map<string, UciSection[]> => {
  const [, ...parts] = readFileSync(join(FOLDER, name), 'utf8').split(/^package (\w+)$/m);
  const packages = new Map<string, UciSection[]>();
  for (let at = 0; at < parts.length; at += 2) {
    const sections = readUci(parts[at + 1] ?? '').map((section) => ({
      ...section,
      name: section.name ?? '',
      anonymous: false,
    }));
    packages.set(parts[at] ?? '', sections);
  }
  return packages;
};

/** Others can't hold every kind, and a guest leaves no such traces. */
const complete = paths.filter(({ name, holds }) => holds.lists && name.includes('simulator'));

describe.each(complete)('golden UCI through $name', ({ open }) => {
  it.each(cases)('%s', async (name) => {
    const golden = goldenOf(name);
    expect(golden.size).toBeGreaterThan(0);
    const target = await open();
    const driver = target.driver();
    await driver.read(NEVER);
    const deltas = [...golden].map(([config, append]) => ({
      package: config,
      remove: [],
      set: [],
      append,
    }));
    expect(await driver.apply(deltas, NEVER)).toMatchObject({ outcome: 'done' });
    for (const [config, sections] of golden) {
      const names = new Set(sections.map((section) => section.name));
      const found = (await target.sections(config)).filter((one) => names.has(one.name ?? ''));
      expect(found).toEqual(sections.map(shown));
    }
    await target.leave();
  });
});
