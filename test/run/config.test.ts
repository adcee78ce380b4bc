/** What the configuration of vitest may not say, in whichever project. */
import { expect, it } from 'vitest';
import * as z from 'zod';
import config from '../vitest.config.ts';

const options = z.looseObject({ name: z.string().optional() });
const { test } = z
  .object({ test: z.looseObject({ projects: z.array(z.object({ test: options })) }) })
  .parse(config);
const all = [options.parse(test), ...test.projects.map((project) => project.test)];

it.each([
  ['runs a failed test again', 'retry'],
  ['ignores what nobody handled', 'dangerouslyIgnoreUnhandledErrors'],
  ['hides what nobody handled', 'onUnhandledError'],
  ['passes without tests', 'passWithNoTests'],
  ['stops at the first failure', 'bail'],
])('knows no project that %s', (_, option) => {
  expect(all.length).toBeGreaterThan(1);
  expect(all.filter((each) => option in each)).toEqual([]);
});
