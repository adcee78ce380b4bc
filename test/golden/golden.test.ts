/**
 * CR YAML in, UCI text out: `cases/<case>.yaml` becomes `cases/<case>.uci`, the packages one after the other as `uci export`
 * writes them, and `cases/<case>.files` where they refer to files. `UPDATE=1` rewrites the texts. They are read by a reader that is
 * not ours and held against the table of fields, so that an update cannot make a wrong text right.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '#shared/compile/compile.ts';
import { DEVICE_FILES } from '#shared/resources/device-files.ts';
import { kinds } from '#shared/resources/registry.ts';
import { formatPackage } from '#shared/uci/format.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readUci } from '../judge/uci.ts';
import { CASES, cases, inputFor, rulesOf } from './cases.ts';
import { expectedOptions } from './fields.ts';

const exported = (name: string): string =>
  [...compile(inputFor(name)).desired]
    .filter(([packageName, sections]) => packageName !== DEVICE_FILES && sections.length > 0)
    .map(
      ([packageName, sections]) =>
        `package ${packageName}\n${formatPackage({ name: packageName, sections })}`,
    )
    .join('\n');

const filesOf = (name: string): string =>
  (compile(inputFor(name)).desired.get(DEVICE_FILES) ?? [])
    .map(({ name: path, options }) => `${path}\n${String(options.content)}`)
    .join('\n');

describe.each(cases)('golden: %s', (name) => {
  const rules = rulesOf(name);
  const file = join(CASES, `${name}.uci`);

  it('is accepted', () => {
    const problems = compile(inputFor(name)).verdicts.filter(({ verdict }) => verdict !== 'wanted');
    expect(problems.map(({ rule, message }) => `${rule.metadata.name}: ${message}`)).toEqual([]);
  });

  it('comes to the UCI text as kept', () => {
    const text = exported(name);
    if (process.env.UPDATE === '1') writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('comes to the files as kept', () => {
    const kept = join(CASES, `${name}.files`);
    const text = filesOf(name);
    if (process.env.UPDATE === '1' && text !== '') writeFileSync(kept, text);
    expect(text).toBe(existsSync(kept) ? readFileSync(kept, 'utf8') : '');
  });

  it('has each field of the spec where the table of fields says', () => {
    const sections = readUci(readFileSync(file, 'utf8'));
    for (const { kind, metadata, spec } of rules) {
      for (const { section, type, options } of expectedOptions(kind, metadata.name, spec)) {
        const found = sections.find((candidate) => candidate.name === section);
        expect(found, `section ${section}`).toMatchObject({ type, options });
      }
    }
  });
});

it('covers every kind that goes to OpenWRT, itself or by CRs that are made of it', () => {
  const covered = new Set(cases.flatMap(rulesOf).map(({ kind }) => kind));
  expect(kinds.filter(({ kind, uci, generates }) => (uci ?? generates) && !covered.has(kind)).map(({ kind }) => kind)).toEqual([]);
});

it('covers every field of every kind that goes to OpenWRT', () => {
  const covered = new Set(
    cases.flatMap(rulesOf).flatMap(({ kind, spec }) => Object.keys(spec).map((field) => `${kind}.${field}`)),
  );
  const fields = kinds
    .filter(({ uci, generates }) => uci ?? generates)
    .flatMap(({ kind, spec }) =>
      spec instanceof z.ZodObject ? Object.keys(spec.shape).map((field) => `${kind}.${field}`) : [],
    );
  expect(fields.filter((field) => !covered.has(field))).toEqual([]);
});
