import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDelta, deltaOf } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { anyPackage } from '#shared/uci/testing.ts';
import { SECTIONS_PER_STEP, stepsOf, type Step } from './staged-steps.ts';

const section = (name: string, options: UciSection['options'] = {}, type = 'rule'): UciSection => ({
  name,
  anonymous: false,
  type,
  options,
});
const base = { package: 'firewall', remove: [], set: [], append: [] };
const shortened = (steps: Step[]) =>
  steps.map((step) =>
    step.map(({ method, args }) => [method, args?.['section'] ?? args?.['name']]),
  );

describe('stepsOf', () => {
  it('moves a section by removing and adding it in one step, and removes others last', () => {
    const delta: UciDelta = {
      ...base,
      remove: ['b', 'c', 'gone'],
      append: [section('c'), section('b')],
    };
    expect(shortened(stepsOf(delta))).toEqual([
      [
        ['delete', 'c'],
        ['add', 'c'],
        ['delete', 'b'],
        ['add', 'b'],
        ['delete', 'gone'],
      ],
    ]);
  });

  it('changes in place what is different, and nothing else', () => {
    const before = section('a', {
      same: '1',
      other: '2',
      gone: '3',
      list: ['x', 'y'],
      toString: '5',
    });
    const after = section('a', { same: '1', other: '4', list: ['y'], empty: '' }, 'zone');
    expect(stepsOf({ ...base, set: [{ before, after }] })).toEqual([
      [
        { object: 'uci', method: 'add', args: { config: 'firewall', name: 'a', type: 'zone' } },
        {
          object: 'uci',
          method: 'delete',
          args: { config: 'firewall', section: 'a', options: ['gone', 'toString'] },
        },
        {
          object: 'uci',
          method: 'set',
          args: { config: 'firewall', section: 'a', values: { other: '4', list: ['y'] } },
        },
      ],
    ]);
  });

  it('never has more sections in a step than an apply handles quickly', () => {
    const append = Array.from({ length: 3 * SECTIONS_PER_STEP + 1 }, (_, at) => section(`s${at}`));
    expect(stepsOf({ ...base, append }).map((step) => step.length)).toEqual([25, 25, 25, 1]);
  });

  it('leads to what the delta asks for, for any delta', () => {
    fc.assert(
      fc.property(anyPackage, anyPackage, (observed, { sections: desired }) => {
        const delta = deltaOf({ observed, desired, isOurs: () => true });
        const reached = stepsOf(delta).flat().reduce(carryOut, observed);
        expect(reached.sections).toEqual(stored(applyDelta(observed, delta)).sections);
      }),
    );
  });
});

const stored = (content: UciPackage): UciPackage => ({
  ...content,
  sections: content.sections.map((one) => ({ ...one, options: sorted(one.options) })),
});
const sorted = (options: UciSection['options']) =>
  Object.fromEntries(Object.entries(options).sort(([a], [b]) => a.localeCompare(b)));

/** What rpcd makes of a call, in the least words. */
const carryOut = (content: UciPackage, { method, args = {} }: Step[number]): UciPackage => {
  const name = String(args['section'] ?? args['name']);
  const values = args['values'] as UciSection['options'] | undefined;
  const change = (one: UciSection): UciSection[] => {
    if (one.name !== name) return [one];
    if (method === 'add') return [{ ...one, type: String(args['type']) }];
    if (method === 'set') return [{ ...one, options: sorted({ ...one.options, ...values }) }];
    const gone = args['options'] as string[] | undefined;
    if (gone === undefined) return [];
    const left = Object.entries(one.options).filter(([option]) => !gone.includes(option));
    return [{ ...one, options: Object.fromEntries(left) }];
  };
  const isNew = method === 'add' && !content.sections.some((one) => one.name === name);
  return {
    ...content,
    sections: [
      ...content.sections.flatMap(change).map((one) => ({ ...one, options: sorted(one.options) })),
      ...(isNew ? [section(name, sorted(values ?? {}), String(args['type']))] : []),
    ],
  };
};
