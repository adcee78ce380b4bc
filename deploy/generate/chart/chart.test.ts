import { describe, expect, it } from 'vitest';
import { coordinatorEnvSchema } from '../../../coordinator/settings/env.ts';
import { NOT_SET_HERE } from './settings.ts';
import { createTemplate, withScalar, withValue } from './template.ts';
import { chartOf } from './templates.ts';
import { schemaOf, valuesText, type Value } from './value.ts';

const value = (path: string): Value => ({
  path,
  description: `What ${path} means.`,
  default: 1,
  form: { type: 'integer' },
  example: 2,
});

describe('a template', () => {
  it('has what is filled in, and all else as it was', () => {
    const { value: inline, line, item, text } = createTemplate();
    const object = {
      a: inline('.Values.a'),
      b: { c: line(withValue('c')), d: line(withScalar('d')), e: [1, item(() => ['    - x'])] },
    };
    expect(text(object).split('\n')).toEqual([
      'a: {{ .Values.a | toJson }}',
      'b:',
      '{{- with .Values.c }}',
      '  c:',
      '{{- toYaml . | nindent 4 }}',
      '{{- end }}',
      '{{- with .Values.d }}',
      '  d: {{ . | toJson }}',
      '{{- end }}',
      '  e:',
      '    - 1',
      '    - x',
      '',
    ]);
  });

  it('leaves text what it is, which looks like one', () => {
    expect(createTemplate().text({ summary: 'on {{ $labels.pod }}' })).toBe(
      'summary: on {{ "{{" }} $labels.pod {{ "}}" }}\n',
    );
  });

  it('is none where a hole has no line of its own', () => {
    const { line, text } = createTemplate();
    expect(() => text([{ a: line(withValue('a')) }])).toThrow('stands where it cannot be filled');
  });
});

describe('values', () => {
  const sections = { a: 'About a.' };

  it('are a file with their descriptions, and a schema that refuses others', () => {
    const values = { values: [value('a.b'), value('c')], sections };
    expect(valuesText(values).split('\n')).toEqual([
      '# About a.',
      'a:',
      '  # What a.b means.',
      '  b: 1',
      '# What c means.',
      'c: 1',
    ]);
    expect(schemaOf(values)).toMatchObject({
      additionalProperties: false,
      properties: {
        a: { description: 'About a.', additionalProperties: false },
        c: { description: 'What c means.', type: 'integer', default: 1, examples: [2] },
      },
    });
  });

  it.each([
    ['one is called like another', [value('c'), value('c')], 'two values are called c'],
    ['a section is not described', [value('x.y')], 'x is no section'],
    ['a section is called like a value', [value('c'), value('c.d')], 'c is no section'],
  ])('are none where %s', (_, values, message) => {
    expect(() => schemaOf({ values, sections })).toThrow(message);
  });
});

describe('the chart', () => {
  const { values } = chartOf();

  it('describes each value, with another one than the default', () => {
    expect(values.values.length).toBeGreaterThan(50);
    const lacking = values.values.filter(
      (one) =>
        one.description.trim() === '' ||
        JSON.stringify(one.example) === JSON.stringify(one.default),
    );
    expect(lacking).toEqual([]);
  });

  it('leaves out variables of the coordinator only that there are', () => {
    for (const name of NOT_SET_HERE) expect(coordinatorEnvSchema.shape).toHaveProperty(name);
  });
});
