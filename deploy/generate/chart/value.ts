/** A value of the chart: what it means, its default, and another one that changes something. */
import { stringify } from 'yaml';

/** What JSON schema says of it, beside description, default and examples. */
export type Form = Readonly<Record<string, unknown>>;

export type Value = {
  /** Dotted, as behind `.Values.` */
  path: string;
  /** In markdown, one paragraph. */
  description: string;
  default: unknown;
  form: Form;
  /** Another one than the default. */
  example: unknown;
  /** By path: other values without which it says nothing. */
  needs?: Readonly<Record<string, unknown>>;
};

export const BOOLEAN: Form = { type: 'boolean' };
export const TEXT: Form = { type: 'string' };
/** Values of Kubernetes: the API server judges what is in them. */
export const OBJECT: Form = { type: 'object' };
export const OBJECTS: Form = { type: 'array', items: { type: 'object' } };
export const TEXTS: Form = { type: 'array', items: { type: 'string', minLength: 1 } };
export const STRINGS_BY_NAME: Form = { type: 'object', additionalProperties: { type: 'string' } };

/** `sections`: by dotted path what the values below it are about. */
export type Values = { values: readonly Value[]; sections: Readonly<Record<string, string>> };

type Node = { value: Value } | { section: string; children: Map<string, Node> };

const treeOf = ({ values, sections }: Values): Map<string, Node> => {
  const root = new Map<string, Node>();
  for (const value of values) {
    const keys = value.path.split('.');
    const name = keys.pop() ?? '';
    let children = root;
    for (const [at, key] of keys.entries()) {
      const path = keys.slice(0, at + 1).join('.');
      const node = children.get(key) ?? { section: sections[path] ?? '', children: new Map() };
      if (!('children' in node) || node.section === '') throw new Error(`${path} is no section`);
      children.set(key, node);
      children = node.children;
    }
    if (children.has(name)) throw new Error(`two values are called ${value.path}`);
    children.set(name, { value });
  }
  return root;
};

/** values.yaml, with the descriptions as comments. */
export const valuesText = (values: Values): string => textOf(treeOf(values), '').join('\n');

const textOf = (nodes: ReadonlyMap<string, Node>, indent: string): string[] =>
  [...nodes].flatMap(([name, node]) =>
    'children' in node
      ? [`${indent}# ${node.section}`, `${indent}${name}:`, ...textOf(node.children, `${indent}  `)]
      : [
          `${indent}# ${node.value.description}`,
          ...stringify({ [name]: node.value.default }, { lineWidth: 0 })
            .trimEnd()
            .split('\n')
            .map((line) => `${indent}${line}`),
        ],
  );

/** The schema of sections of the whole: an unknown value is refused. */
export const schemaOf = (values: Values): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Values of the chart sdewan',
  ...sectionSchema(treeOf(values), { global: GLOBAL }),
});

/** Helm puts it into the values of each chart that is a dependency of another. */
const GLOBAL = {
  ...OBJECT,
  description: 'What a chart above this one gives to all of its charts. It changes nothing here.',
};

const sectionSchema = (nodes: ReadonlyMap<string, Node>, others: object = {}): object => ({
  type: 'object',
  additionalProperties: false,
  properties: {
    ...Object.fromEntries(
      [...nodes].map(([name, node]) => [
        name,
        'children' in node
          ? { description: node.section, ...sectionSchema(node.children) }
          : {
              description: node.value.description,
              ...node.value.form,
              default: node.value.default,
              examples: [node.value.example],
            },
      ]),
    ),
    ...others,
  },
});
