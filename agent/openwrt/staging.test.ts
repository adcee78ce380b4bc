import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitForJson } from './staging.ts';

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

describe('splitForJson', () => {
  it('loses nothing, and keeps every part below the limit as JSON', () => {
    const anyText = fc.string({ unit: 'grapheme', maxLength: 600 });
    fc.assert(
      fc.property(fc.array(anyText), fc.integer({ min: 64, max: 400 }), (lines, limit) => {
        const text = lines.join('\n');
        const parts = splitForJson(text, limit);
        expect(parts.join('')).toBe(text);
        for (const part of parts) expect(jsonBytes(part)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('gives one part for an empty text, so that a file is made', () => {
    expect(splitForJson('', 100)).toEqual(['']);
  });

  it('never cuts a character, which would become two broken ones', () => {
    const parts = splitForJson('😀'.repeat(500), 100);
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
  });
});
