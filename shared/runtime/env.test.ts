import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { EnvError, envField, readEnv } from './env.ts';

const schema = z.object({
  SDEWAN_PURPOSE: envField.text().describe('Which rules to apply.'),
  SDEWAN_PORT: envField.port().default(8080).describe('Port of the health endpoints.'),
  SDEWAN_DRY: envField.flag().default(false).describe('Write nothing.'),
  SDEWAN_KINDS: envField.list().default([]).describe('Kinds to watch.'),
  SDEWAN_CA: envField.text().optional().describe('CA file.'),
});

const failureOf = (source: Record<string, string>): EnvError => {
  try {
    readEnv(schema, source);
  } catch (error) {
    if (error instanceof EnvError) return error;
  }
  throw new Error('no EnvError');
};

describe('readEnv', () => {
  it('gives typed values and defaults', () => {
    const source = {
      SDEWAN_PURPOSE: ' cnf-1 ',
      SDEWAN_PORT: '81',
      SDEWAN_DRY: 'true',
      SDEWAN_KINDS: 'a, b,',
    };
    expect(readEnv(schema, source)).toEqual({
      SDEWAN_PURPOSE: 'cnf-1',
      SDEWAN_PORT: 81,
      SDEWAN_DRY: true,
      SDEWAN_KINDS: ['a', 'b'],
    });
  });

  it('treats an empty value as not set', () => {
    expect(readEnv(schema, { SDEWAN_PURPOSE: 'x', SDEWAN_PORT: '', SDEWAN_CA: '' })).toEqual({
      SDEWAN_PURPOSE: 'x',
      SDEWAN_PORT: 8080,
      SDEWAN_DRY: false,
      SDEWAN_KINDS: [],
    });
  });

  it('names all wrong variables at once, and repeats no value', () => {
    const { problems, message } = failureOf({ SDEWAN_PORT: 'hunter2', SDEWAN_DRY: 'perhaps' });
    expect(problems.map((line) => line.split(':')[0])).toEqual([
      'SDEWAN_PURPOSE',
      'SDEWAN_PORT',
      'SDEWAN_DRY',
    ]);
    expect(problems[0]).toBe('SDEWAN_PURPOSE: required but not set');
    expect(message).not.toContain('hunter2');
    expect(message).not.toContain('perhaps');
  });
});
