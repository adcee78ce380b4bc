import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE_LENGTH, type RuleReport } from '#shared/protocol/report.ts';
import { pagesOf } from './pages.ts';

const rules = (count: number, message = ''): RuleReport[] =>
  Array.from({ length: count }, (_, at) => ({
    kind: 'FirewallRule',
    name: `rule-${at}`,
    uid: `uid-${at}`,
    generation: 1,
    revision: 'r',
    state: 'Applied',
    reason: 'Applied',
    message,
  }));

describe('pagesOf', () => {
  it('gives one empty page for no rules', () => {
    expect(pagesOf([])).toEqual([[]]);
  });

  it.each([1, 999, 1_000, 1_001, 5_000])('keeps all of %i rules in order', (count) => {
    const pages = pagesOf(rules(count));
    expect(pages.flat()).toEqual(rules(count));
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(1_000);
  });

  it('keeps pages below the body limit when every message is as long and wide as can be', () => {
    for (const page of pagesOf(rules(1_000, '漢'.repeat(MAX_MESSAGE_LENGTH)))) {
      expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(1_000_000);
    }
  });
});
