import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { refusals } from './refusal-codes.ts';

it('docs/status.md lists every code that a report can be refused with', () => {
  const page = readFileSync(new URL('../../docs/status.md', import.meta.url), 'utf8');
  // No agent asks for a path that is not there.
  const codes = Object.keys(refusals).filter((code) => code !== 'not-found');
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});
