/** That the API server selects the same is tried in test/integration/kube-selectors.test.ts. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelSelectorSchema, selectorText, selects, type LabelSelector } from './selector.ts';
import { labels } from './testing/selectors.ts';

describe('a selector', () => {
  const web = { app: 'web', tier: 'front' };

  it.each([
    ['a label with this value', { matchLabels: { app: 'web' } }, true],
    ['a label with another value', { matchLabels: { app: 'db' } }, false],
    ['all of several', { matchLabels: { app: 'web', tier: 'back' } }, false],
    ['In', [{ key: 'app', operator: 'In', values: ['db', 'web'] }], true],
    ['In, without the label', [{ key: 'zone', operator: 'In', values: ['a'] }], false],
    ['NotIn', [{ key: 'app', operator: 'NotIn', values: ['web'] }], false],
    ['NotIn, without the label', [{ key: 'zone', operator: 'NotIn', values: ['a'] }], true],
    ['Exists', [{ key: 'tier', operator: 'Exists' }], true],
    ['Exists, of what every object has', [{ key: 'constructor', operator: 'Exists' }], false],
    ['DoesNotExist', [{ key: 'tier', operator: 'DoesNotExist' }], false],
    ['nothing', {}, true],
  ] as const)('asks for %s', (_what, asked, expected) => {
    const given = labelSelectorSchema.parse(
      Array.isArray(asked) ? { matchExpressions: asked } : asked,
    );
    expect(selects(given, web)).toBe(expected);
  });

  it('always has the same text', () => {
    const one: LabelSelector = {
      matchLabels: { tier: 'front', app: 'web' },
      matchExpressions: [
        { key: 'zone', operator: 'NotIn', values: ['b', 'a', 'b'] },
        { key: 'x', operator: 'Exists' },
        { key: 'y', operator: 'DoesNotExist' },
      ],
    };
    expect(selectorText(one)).toBe('!y,app=web,tier=front,x,zone notin (a,b)');
    expect(selectorText({})).toBe('');
  });
});

it('has an opposite for each operator', () => {
  const values = fc.uniqueArray(fc.constantFrom('1', '2', '3'), { minLength: 1 });
  fc.assert(
    fc.property(labels, fc.constantFrom('a', 'b', 'constructor'), values, (of, key, asked) => {
      const holds = (
        operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist',
        of_: typeof asked = [],
      ) => selects({ matchExpressions: [{ key, operator, values: of_ }] }, of);
      expect(holds('In', asked)).toBe(!holds('NotIn', asked));
      expect(holds('Exists')).toBe(!holds('DoesNotExist'));
      expect(holds('Exists')).toBe(Object.keys(of).includes(key));
    }),
  );
});
