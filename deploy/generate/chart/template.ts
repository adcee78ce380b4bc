/**
 * An object of Kubernetes as a template of Helm: where `hole` stands in the object, the template
 * has what it says instead. All else is as in the object, and what looks like a template there (an
 * alarm's text) stays text.
 */
import { stringify } from 'yaml';

type Fill = (line: { indent: string; key: string }) => readonly string[];

export type Template = {
  /** Replaces a value within its line, by what the expression gives as JSON. */
  value: (expression: string) => string;
  /** Replaces the whole line `key: hole`. */
  line: (fill: Fill) => string;
  /** Replaces a whole item of a list. */
  item: (fill: Fill) => string;
  /** @throws when a hole has not been filled: it stood where its kind cannot stand */
  text: (object: object) => string;
};

const yamlOf = (object: unknown): string =>
  stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });

/** As lines of a template, where nothing is to be read as one. */
export const literal = (object: unknown, indent: string): string[] =>
  escaped(yamlOf(object))
    .trimEnd()
    .split('\n')
    .map((line) => `${indent}${line}`);

const escaped = (text: string): string =>
  text.replaceAll(/\{\{|\}\}/g, (braces) => `{{ "${braces}" }}`);

export const createTemplate = (): Template => {
  const values = new Map<string, string>();
  const lines = new Map<string, Fill>();
  const items = new Map<string, Fill>();
  const hole = <T>(kind: string, holes: Map<string, T>, filling: T): string => {
    const name = `HOLE_${kind}_${holes.size}_`;
    holes.set(name, filling);
    return name;
  };
  return {
    value: (expression) => hole('VALUE', values, expression),
    line: (fill) => hole('LINE', lines, fill),
    item: (fill) => hole('ITEM', items, fill),
    text: (object) => {
      const text = escaped(yamlOf(object))
        .replaceAll(/^( *)(\S+): (HOLE_LINE_\d+_)$/gm, (_, indent: string, key: string, name) =>
          filled(lines, name)({ indent, key }).join('\n'),
        )
        .replaceAll(/^( *)- (HOLE_ITEM_\d+_)$/gm, (_, indent: string, name) =>
          filled(items, name)({ indent, key: '' }).join('\n'),
        )
        .replaceAll(/HOLE_VALUE_\d+_/g, (name) => `{{ ${filled(values, name)} | toJson }}`);
      const left = /HOLE_\w+/.exec(text);
      if (left) throw new Error(`${left[0]} stands where it cannot be filled`);
      return text;
    },
  };
};

const filled = <T>(holes: ReadonlyMap<string, T>, name: string): T => {
  const filling = holes.get(name);
  if (filling === undefined) throw new Error(`nothing fills ${name}`);
  return filling;
};

/** A key that is there only where the value is not empty. */
export const withValue =
  (path: string): Fill =>
  ({ indent, key }) => [
    `{{- with .Values.${path} }}`,
    `${indent}${key}:`,
    `{{- toYaml . | nindent ${indent.length + 2} }}`,
    '{{- end }}',
  ];

/** The same for text, number or truth: `key: value`. */
export const withScalar =
  (path: string): Fill =>
  ({ indent, key }) => [
    `{{- with .Values.${path} }}`,
    `${indent}${key}: {{ . | toJson }}`,
    '{{- end }}',
  ];

/** A whole file, or a part of one, that is there only where `condition` holds. */
export const when = (condition: string, text: string): string =>
  `{{- if ${condition} }}\n${text.trimEnd()}\n{{- end }}\n`;
