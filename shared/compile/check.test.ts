import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { kindOf } from '../resources/registry.ts';
import type { KindDefinition } from '../resources/kind.ts';
import { ORDER_ANNOTATION } from '../names.ts';
import { checkMetadata, checkSpec, referencesOf } from './check.ts';
import { ruleOf } from './testing.ts';

const known = (name: string): KindDefinition => {
  const kind = kindOf(name);
  if (!kind) throw new Error(`no kind ${name}`);
  return kind;
};
const zone = known('FirewallZone');

describe('a spec is refused', () => {
  const kind: KindDefinition = {
    ...zone,
    spec: z.strictObject({
      key: z.string().max(3),
      ports: z.array(z.object({ from: z.int('must be whole') })).optional(),
      // Two alternatives that fail alike.
      mode: z.string().min(2, 'is short').regex(/^..$/, 'is short').optional(),
    }),
    specRules: [
      {
        path: 'spec.key',
        message: 'must not be bad',
        cel: '',
        holds: (spec) => keyOf(spec) !== 'bad',
      },
      {
        path: 'spec.key',
        message: 'must not be odd',
        cel: '',
        holds: (spec) => keyOf(spec) !== 'odd',
      },
      { path: 'spec', message: 'must be neither', cel: '', holds: (spec) => keyOf(spec) === 'ok' },
    ],
  };
  const keyOf = (spec: unknown): unknown => (spec as { key: unknown }).key;

  it.each<[string, unknown, string]>([
    ['without a field that is required', {}, 'spec.key: is required'],
    ['where there is none at all', undefined, 'spec.key: is required'],
    ['that is null', null, 'spec.key: is required'],
    [
      'with fields that nobody knows',
      { key: 'ok', a: 1, b: 2 },
      'spec: unknown to this version: a, b',
    ],
    [
      'by the path of what is wrong',
      { key: 'ok', ports: [{ from: 1 }, { from: 'x' }] },
      'spec.ports[1].from: must be whole',
    ],
    ['with each message once', { key: 'ok', mode: 'a' }, 'spec.mode: is short'],
    [
      'by a rule over all of it',
      { key: 'bad' },
      'spec.key: must not be bad; spec: must be neither',
    ],
  ])('%s', (_name, spec, message) => {
    expect(checkSpec(kind, spec)).toEqual({ problem: { reason: 'InvalidSpec', message } });
  });

  it('says nothing of its values in the message, which may be secret', () => {
    expect(JSON.stringify(checkSpec(kind, { key: 'hunter2' }))).not.toContain('hunter2');
  });

  it('becomes what the schema makes of it otherwise', () => {
    expect(checkSpec({ ...kind, specRules: [] }, { key: 'bad' })).toEqual({ spec: { key: 'bad' } });
    const { specRules: _none, ...withoutRules } = kind;
    expect(checkSpec(withoutRules, { key: 'bad' })).toEqual({ spec: { key: 'bad' } });
  });

  it('is checked by its own kind, once', () => {
    let looks = 0;
    const counting = z.unknown().transform((spec) => [(looks += 1), spec]);
    const raw = { key: 'ok' };
    const counted: KindDefinition = { ...zone, spec: counting, specRules: [] };
    checkSpec(counted, raw);
    checkSpec(counted, raw);
    expect(looks).toBe(1);
    expect(checkSpec(kind, raw)).toEqual({ spec: raw });
  });
});

describe('name and annotations of a rule', () => {
  const named = (name: string, annotations: Record<string, string> = {}) =>
    ruleOf('FirewallZone', name, {}, { annotations });
  const limits: KindDefinition = {
    ...zone,
    nameRules: [
      { cel: '', message: 'is too long', holds: (name) => name.length < 5, isLimit: true },
      { cel: '', message: 'is taken by OpenWRT', holds: (name) => name !== 'wan', isLimit: false },
    ],
  };
  const order = `metadata.annotations[${ORDER_ANNOTATION}]: must be a whole number`;

  it.each([
    ['a name that is too long', named('longer'), 'NameTooLong', 'metadata.name: is too long'],
    ['a name that cannot be', named('wan'), 'InvalidSpec', 'metadata.name: is taken by OpenWRT'],
    [
      'an order that is no number',
      named('lan', { [ORDER_ANNOTATION]: 'first' }),
      'InvalidSpec',
      order,
    ],
  ])('is refused for %s', (_name, rule, reason, message) => {
    expect(checkMetadata(limits, rule)).toEqual({ reason, message });
  });

  it('are refused for a name in the spec that is the same on OpenWRT, as the rule has it', () => {
    const names = (...parts: string[]): KindDefinition => ({
      ...limits,
      spec: z.unknown(),
      partNames: () => parts.map((name, index) => ({ path: `spec.parts[${index}].name`, name })),
    });
    expect(checkMetadata(names('b', 'a.1', 'c'), named('a-1'))).toEqual({
      reason: 'InvalidSpec',
      message:
        'spec.parts[1].name: a.1 is the name of the rule itself, which is taken on OpenWRT; choose another name',
    });
    expect(checkMetadata(names('b'), named('a-1'))).toBeUndefined();
  });

  it('are valid otherwise, also for a kind that limits no names', () => {
    expect(checkMetadata(limits, named('lan', { [ORDER_ANNOTATION]: '-5' }))).toBeUndefined();
    const { nameRules: _none, ...unlimited } = limits;
    expect(checkMetadata(unlimited, named('longer'))).toBeUndefined();
  });
});

it.each<[string, string, unknown, string[]]>([
  [
    'a valid rule refers to what it names',
    'FirewallRule',
    { src: 'lan1', dest: 'lan2' },
    ['lan1', 'lan2'],
  ],
  ['of an invalid one nothing is known', 'FirewallRule', { src: 'lan1', nonsense: 1 }, []],
  ['a zone refers to nothing', 'FirewallZone', { network: ['ovn-net1'] }, []],
  ['nor does a kind that nobody knows', 'Unknown', {}, []],
])('%s', (_name, kind, spec, expected) => {
  expect(referencesOf(ruleOf(kind, 'r', spec)).map(({ name }) => name)).toEqual(expected);
});
