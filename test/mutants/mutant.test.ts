import { describe, expect, it } from 'vitest';
import { byCost, parseMutant, selected, wordsOf, type Mutant } from './mutant.ts';

const DIFF = `diff --git a/coordinator/verdict/decide.ts b/coordinator/verdict/decide.ts
--- a/coordinator/verdict/decide.ts
+++ b/coordinator/verdict/decide.ts
@@ -1 +1 @@
-one
+caught by: nothing in here is a header
`;

describe('a file of a mutant', () => {
  it('says what users lose, what must turn red, and where the bug is', () => {
    const text = `promise: rules go\ncaught by: unit a/b c/d\n\ncaught by: script demo -- --once\n${DIFF}`;
    expect(parseMutant('finalizer', text)).toEqual({
      name: 'finalizer',
      promise: 'rules go',
      proofs: [{ project: 'unit', filters: ['a/b', 'c/d'] }, { script: ['demo', '--', '--once'] }],
      folder: 'coordinator/verdict',
      patch: DIFF,
    });
  });

  it.each([
    ['has no patch', 'promise: p\ncaught by: unit a\n', 'no line that begins with "diff --git"'],
    ['has no promise', `caught by: unit a\n${DIFF}`, 'one line "promise: …" is needed'],
    ['has two promises', `promise: a\npromise: b\ncaught by: unit a\n${DIFF}`, 'one line'],
    ['has no proof', `promise: p\n${DIFF}`, 'a line "caught by: …" is needed'],
    ['names no test', `promise: p\ncaught by: unit\n${DIFF}`, '"caught by: unit" names no test'],
    ['has other words', `promise: p\nproved by: unit a\n${DIFF}`, '"proved by: unit a" is neither'],
  ])('that %s is refused', (_name, text, why) => {
    expect(() => parseMutant('m', text)).toThrow(`m.patch: `);
    expect(() => parseMutant('m', text)).toThrow(why);
  });
});

const mutant = (name: string, ...proofs: Mutant['proofs']): Mutant => ({
  name,
  promise: '',
  proofs,
  folder: 'agent',
  patch: '',
});
const unit = { project: 'unit', filters: ['agent'] };
const e2e = { project: 'e2e', filters: ['test/e2e'] };
const demo = { script: ['demo'] };

it('mutants are selected by parts of their names, and their proofs by project', () => {
  const all = [mutant('ledger-late', unit, e2e), mutant('ledger-lost', e2e), mutant('probe', demo)];
  const names = (some: Mutant[]) =>
    some.map(({ name, proofs }) => [name, ...proofs.map(wordsOf)].join(': '));
  expect(selected(all, {})).toEqual(all);
  expect(names(selected(all, { names: ['late', 'probe'] }))).toEqual([
    'ledger-late: unit agent: e2e test/e2e',
    'probe: script demo',
  ]);
  expect(names(selected(all, { project: 'unit' }))).toEqual(['ledger-late: unit agent']);
  expect(names(selected(all, { names: ['ledger'], project: 'script' }))).toEqual([]);
});

it('mutants whose proofs are cheap come first', () => {
  const all = [mutant('both', unit, e2e), mutant('script', demo), mutant('unit', unit)];
  expect(all.sort(byCost).map(({ name }) => name)).toEqual(['unit', 'script', 'both']);
});
