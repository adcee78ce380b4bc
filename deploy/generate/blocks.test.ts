import { describe, expect, it } from 'vitest';
import { withBlocks, withoutBlocks, withTables } from './blocks.ts';

const text = `rules:
  # By hand.
  - own: true
  # begin generated: one
  - former: true
  # end generated
other:
    # begin generated: two
    # end generated
`;

it('replaces what stands in a block, at its place, and keeps all else', () => {
  expect(withBlocks(text, { one: [{ a: ['*'] }, { b: 1 }], two: [] })).toBe(`rules:
  # By hand.
  - own: true
  # begin generated: one
  - a:
      - "*"
  - b: 1
  # end generated
other:
    # begin generated: two
    # end generated
`);
});

it('changes nothing the second time', () => {
  const blocks = { one: [{ a: 1 }], two: [{ b: { c: 'd' } }] };
  const once = withBlocks(text, blocks);
  expect(withBlocks(once, blocks)).toBe(once);
});

it('refuses a block that nothing generates', () => {
  expect(() => withBlocks(text, { one: [] })).toThrow('nothing generates a block two');
});

it('returns what people wrote', () => {
  expect(withoutBlocks(text)).toBe('rules:\n  # By hand.\n  - own: true\n\nother:\n\n');
});

describe('a page', () => {
  const page =
    'By hand.\n\n<!-- begin generated: one -->\nformer\n<!-- end generated -->\n\nMore.\n';

  it('gets the table of a block at its place, and keeps all else', () => {
    const filled = withTables(page, { one: '| a |\n| --- |' });
    expect(filled).toBe(page.replace('former', '| a |\n| --- |'));
    expect(withTables(filled, { one: 'former' })).toBe(page);
  });

  it('refuses a block that nothing generates, and a table that has no block', () => {
    expect(() => withTables(page, {})).toThrow('nothing generates a block one');
    expect(() => withTables(page, { one: '', two: '' })).toThrow('the page has no block two');
  });
});
