import { describe, expect, it } from 'vitest';
import { isUciName, isUciType, isUciValue, uciName } from './names.ts';

describe('UCI can hold', () => {
  it.each<[string, { name: boolean; type: boolean }]>([
    ['aZ_09', { name: true, type: true }],
    ['a-b', { name: false, type: true }],
    ['a.b', { name: false, type: false }],
    [' a', { name: false, type: false }],
    ['a ', { name: false, type: false }],
    ['', { name: false, type: false }],
  ])('%j as a name, as a type', (text, { name, type }) => {
    expect(isUciName(text)).toBe(name);
    expect(isUciType(text)).toBe(type);
  });

  it.each<[string, boolean]>([
    ['', true],
    [' ~', true],
    ['\u0080é€😀', true],
    ['\u001f', false],
    ['at the end\n', false],
    ['\u007f', false],
    ['half \ud800', false],
  ])('%j as a value: %j', (text, expected) => {
    expect(isUciValue(text)).toBe(expected);
  });
});

it('makes the name of a CR one that UCI can hold', () => {
  expect(uciName('a-b.c_D9')).toBe('a_b_c_D9');
});
