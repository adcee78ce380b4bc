import { describe, expect, it } from 'vitest';
import { withResults } from './results.ts';
import type { Row } from './row.ts';

const row = (id: string): Row => ({
  id,
  fault: `${id} fails`,
  holds: 'all else',
  boundMs: 10_000,
  takesSeconds: 1,
  run: async () => undefined,
});
const [one, two] = [row('one'), row('two')];
const PAGE = 'Before.\n\n<!-- begin faults -->\n<!-- end faults -->\n\nAfter.\n';
const NOW = { commit: 'abc', date: '2026-01-02' };
const lines = (page: string): string[] => page.split('\n').filter((line) => line.startsWith('| `'));

describe('the table', () => {
  it('has a line for each row that ran, and leaves the page around it alone', () => {
    const page = withResults(PAGE, [{ row: one, recoveredMs: 1_234, broken: [] }], NOW, [one, two]);
    expect(lines(page)).toEqual([
      '| `one` | one fails | all else | 10 s | 1.2 s | holds | abc | 2026-01-02 |',
    ]);
    expect(page).toMatch(/^Before\.\n[^]*\nAfter\.\n$/);
  });

  it('keeps the lines of rows that did not run, in their order', () => {
    const first = withResults(PAGE, [{ row: two, recoveredMs: 0, broken: [] }], NOW, [one, two]);
    const both = withResults(first, [{ row: one, recoveredMs: 0, broken: [] }], NOW, [one, two]);
    expect(lines(both).map((line) => line.slice(0, 7))).toEqual(['| `one`', '| `two`']);
  });

  it('drops lines of rows that there are no more', () => {
    const page = withResults(PAGE, [{ row: two, recoveredMs: 0, broken: [] }], NOW, [one, two]);
    expect(lines(withResults(page, [], NOW, [one]))).toEqual([]);
  });

  it('says what did not hold', () => {
    const page = withResults(PAGE, [{ row: one, recoveredMs: 0, broken: ['a', 'b'] }], NOW, [one]);
    expect(lines(page)[0]).toContain('**2 did not hold**');
  });

  it('needs its marks', () => {
    expect(() => withResults('no table', [], NOW, [one])).toThrow('begin faults');
  });
});
