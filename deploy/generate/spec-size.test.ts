import { describe, expect, it } from 'vitest';
import { resources } from '#shared/resources/resources.ts';
import { specSchemaOf, type Schema } from './crd.ts';
import { largestOf } from './spec-size.ts';

const text: Schema = { type: 'string', maxLength: 10 };

describe('the largest spec that a schema accepts', () => {
  it.each<[string, Schema, string]>([
    ['text', text, '"0123456789"'],
    ['words', { type: 'string', enum: ['a', 'long'] }, '"long"'],
    ['a list', { type: 'array', maxItems: 2, items: text }, '["0123456789","0123456789"]'],
    ['an object', { type: 'object', properties: { a: text } }, '{"a":"0123456789"}'],
    ['text or a number', { 'x-kubernetes-int-or-string': true, maxLength: 3 }, '"123"'],
  ])('covers %s', (_what, schema, largest) => {
    expect(largestOf(schema, 'spec')).toBeGreaterThanOrEqual(largest.length);
    expect(largestOf(schema, 'spec')).toBeLessThan(largest.length + 5);
  });

  it.each<[string, Schema, string]>([
    ['text', { type: 'string' }, 'spec.a: needs maxLength'],
    ['a list', { type: 'array', items: text }, 'spec.a: needs maxItems'],
    [
      'the items of a list',
      { type: 'array', maxItems: 1, items: { type: 'string' } },
      'spec.a\\[\\]',
    ],
  ])('has none without a bound: %s', (_what, schema, message) => {
    const spec: Schema = { type: 'object', properties: { a: schema } };
    expect(() => largestOf(spec, 'spec')).toThrow(new RegExp(message));
  });

  it('has one for each resource of ours, and fits into etcd', () => {
    for (const resource of resources)
      expect(largestOf(specSchemaOf(resource), `${resource.kind}.spec`)).toBeLessThan(600_000);
  });
});
