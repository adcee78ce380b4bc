/** Each test runs somewhere, and what decides on a suite is among its inputs. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import config from '../vitest.config.ts';
import { PROJECTS } from './all.ts';
import { PARTS } from './nightly.ts';
import { dueSuites, expectedSeconds, ROUND } from './due.ts';
import { folderOf, productFiles, ROOT } from './product-files.ts';
import type { Project } from './stages.ts';
import { inputsOf, isOneOf, SUITES } from './suites.ts';
import { filesOf } from './tested.ts';

const list = z.array(z.string());
const { test } = z
  .object({
    test: z.object({
      projects: z.array(
        z.object({
          test: z.object({
            name: z.string(),
            include: list,
            exclude: list,
            globalSetup: list,
            setupFiles: list,
          }),
        }),
      ),
    }),
  })
  .parse(config);
const projects = test.projects.map((each) => each.test);

describe('each project of vitest', () => {
  /** On a device that is given. */
  const onDevice = ['device', 'e2e-device'];
  const run = [
    ...[...PROJECTS, ...onDevice].map((name) => ({ name })),
    ...[...Object.values(SUITES), ...Object.values(PARTS)].flatMap((each) => each.projects),
  ];

  it('belongs to `npm test`, a suite or the night', () => {
    expect(projects.length).toBeGreaterThan(20);
    expect(projects.filter(({ name }) => !isOneOf(run, name))).toEqual([]);
  });

  it('is there, where one of them names it', () => {
    const isThere = (each: Project): boolean => projects.some(({ name }) => isOneOf([each], name));
    expect(run.filter((each) => !isThere(each))).toEqual([]);
  });

  it('has tests', () => {
    const empty = projects.filter(({ include }) => globSync(include, { cwd: ROOT }).length === 0);
    expect(empty).toEqual([]);
  });
});

const IMPORT = /\b(?:from|import) '((?:\.|#shared\/)[^']+\.ts)'|\bimport\(\s*'([^']+\.ts)'/g;

/** Erased before anything runs. */
const TYPES = /^import type [^;]*;/gm;

const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(ROOT, file), 'utf8').replaceAll(TYPES, '').matchAll(IMPORT)]
    .map(([, one, other]) => one ?? other ?? '')
    .map((name) => (name.startsWith('#') ? name.slice(1) : path.join(path.dirname(file), name)))
    .filter((name) => existsSync(path.join(ROOT, name)));

const isChosen = ({ files = [''] }: Project, file: string): boolean =>
  files.some((each) => file.includes(each));

/** What the tests load of ours. */
const loadedBy = (own: readonly Project[]): Set<string> => {
  const loaded = new Set(
    own.flatMap((each) =>
      projects
        .filter(({ name }) => isOneOf([each], name))
        .flatMap(({ include, exclude, globalSetup, setupFiles }) => [
          ...globSync(include, { cwd: ROOT, exclude }).filter((file) => isChosen(each, file)),
          ...globalSetup,
          ...setupFiles,
        ]),
    ),
  );
  for (const file of loaded) importsOf(file).forEach((each) => loaded.add(each));
  return loaded;
};

describe.each(Object.entries(SUITES))('%s', (_, suite) => {
  const { paths: inputs } = inputsOf(suite);

  it('names what is there', () => {
    const isThere = (input: string): boolean =>
      globSync(input.replace(/^:(!|\(glob\))/, ''), { cwd: ROOT }).length > 0;
    expect(inputs.filter((each) => !isThere(each))).toEqual([]);
  });

  it('has as inputs what of test/ its tests load', () => {
    const files = new Set(filesOf(ROOT, inputs));
    const helping = [...loadedBy(suite.projects)].filter((file) => file.startsWith('test/'));
    expect(helping.filter((file) => !files.has(file)).sort()).toEqual([]);
  });
});

describe('what is due', () => {
  const names = Object.keys(SUITES);
  const due = (commits: number, changed: readonly string[] = []) =>
    dueSuites(names, { commits, isTested: (name) => !changed.includes(name) });

  it('is what has changed', () => {
    expect(due(7, ['fleet', 'users'])).toEqual(
      expect.arrayContaining([
        { name: 'fleet', why: 'changed' },
        { name: 'users', why: 'changed' },
      ]),
    );
  });

  it.each([0, 1, 500])('is each once in a dozen commits, from the %ith on', (first) => {
    const drawn = Array.from({ length: ROUND }, (_, at) => due(first + at));
    expect(drawn.filter((each) => each.length === 0)).toEqual([]);
    expect(
      drawn
        .flat()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.toSorted());
  });
});

/** Stages of the demo and `npm test`, before the suites. */
const BEFORE_SECONDS = 670;
const AT_MOST_MINUTES = 27;
const ALL_AT_MOST_MINUTES = 42;

describe('a change of one folder of the product', () => {
  const inputs = Object.values(SUITES).map((suite) => ({
    suite,
    files: filesOf(ROOT, inputsOf(suite).paths),
  }));
  const folders = new Set(productFiles().map(folderOf));

  it.each([...folders])(`proves %s in ${AT_MOST_MINUTES} minutes`, (folder) => {
    const due = inputs.filter(({ files }) => files.some((file) => folderOf(file) === folder));
    expect(BEFORE_SECONDS + expectedSeconds(due.map(({ suite }) => suite))).toBeLessThanOrEqual(
      AT_MOST_MINUTES * 60,
    );
  });

  it(`proves everything in ${ALL_AT_MOST_MINUTES}`, () => {
    expect(BEFORE_SECONDS + expectedSeconds(Object.values(SUITES))).toBeLessThanOrEqual(
      ALL_AT_MOST_MINUTES * 60,
    );
  });
});

it('docs/development.md has a row for each', () => {
  const [, section = ''] = readFileSync(path.join(ROOT, 'docs/development.md'), 'utf8').split(
    '\n### Suites\n',
  );
  const rows = section
    .split('\n### ')[0]
    ?.split('\n')
    .flatMap((line) => /^\| ([\w-]+) \| (.+?) \| .+ \| (\d+) \|$/.exec(line)?.slice(1) ?? []);
  expect(rows).toEqual(
    Object.entries(SUITES).flatMap(([name, { what, seconds }]) => [
      name,
      what,
      String(Math.ceil(seconds / 60)),
    ]),
  );
});
