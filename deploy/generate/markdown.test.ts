import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { envField } from '#shared/runtime/env.ts';
import { envTable, tableOf } from './markdown.ts';

describe('tableOf', () => {
  it('has a row each, in which no text ends a cell', () => {
    expect(tableOf(['A', 'B'], [['1', 'x | y']])).toBe('| A | B |\n| --- | --- |\n| 1 | x \\| y |');
  });
});

describe('envTable', () => {
  it('says of a variable its default, or that it is required or not set', () => {
    const schema = z.object({
      SDEWAN_PURPOSE: envField.text().describe('Which rules to apply.'),
      SDEWAN_DRY: envField.flag().default(false).describe('Write nothing.'),
      SDEWAN_CA: envField.text().optional().describe('CA file.'),
    });
    expect(envTable(schema).split('\n').slice(2)).toEqual([
      '| `SDEWAN_PURPOSE` | required | Which rules to apply. |',
      '| `SDEWAN_DRY` | `false` | Write nothing. |',
      '| `SDEWAN_CA` | not set | CA file. |',
    ]);
  });

  it('refuses a variable without a description', () => {
    expect(() => envTable(z.object({ X: envField.text() }))).toThrow('X has no description');
  });
});
