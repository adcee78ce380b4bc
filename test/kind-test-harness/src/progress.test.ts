import { describe, expect, it } from 'vitest';

import { createProgress, formatBytes, formatSeconds } from './progress.ts';

describe('formatSeconds', () => {
  it.each([
    [0.4, '0 s'],
    [59.4, '59 s'],
    [95, '1 min 35 s'],
    [220, '3 min 40 s'],
  ])('%d is %s', (seconds, text) => {
    expect(formatSeconds(seconds)).toBe(text);
  });
});

describe('formatBytes', () => {
  it.each([
    [1, '1 kB'],
    [134_000_802, '134 MB'],
  ])('%d is %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

describe('createProgress', () => {
  it('hands each line on at once when somebody wants them', () => {
    const lines: string[] = [];
    const progress = createProgress((line) => lines.push(line));
    progress.say('building');
    expect(lines).toEqual(['building']);
  });
});
