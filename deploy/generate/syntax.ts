/** ESTree nodes as plain values, as far as `texts.ts` looks at them: without a type of its own for each kind of node. */

export type Node = { type: string; [field: string]: unknown };

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

export const nodesIn = (value: unknown): Node[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => isNode(one));

export const child = (node: Node | undefined, field: string): Node | undefined =>
  nodesIn(node?.[field])[0];

export const argumentsOf = (node: Node): Node[] => nodesIn(node['arguments']);

/** A number or a text, as it is written to people. */
export const literalOf = (node: Node | undefined): string | undefined => {
  if (node?.type === 'TSAsExpression') return literalOf(child(node, 'expression'));
  const value = node?.type === 'Literal' ? node['value'] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

/** Calls that only change how their object, or their argument, is written. */
const OF_THEIR_OBJECT = new Set(
  'join slice trim map filter sort toSorted toFixed toLowerCase'.split(' '),
);
const OF_THEIR_ARGUMENT = new Set(['String', 'stringify', 'quote']);

/** The word that says best what an expression is: its name, or that of the call that makes it. */
export const nameIn = (node: Node | undefined): string | undefined => {
  if (node === undefined) return undefined;
  switch (node.type) {
    case 'Identifier':
    case 'PrivateIdentifier':
      return String(node['name']);
    case 'Literal':
      return literalOf(node);
    case 'MemberExpression':
      return nameIn(child(node, 'property'));
    case 'ChainExpression':
    case 'TSAsExpression':
    case 'TSNonNullExpression':
      return nameIn(child(node, 'expression'));
    case 'LogicalExpression':
      return nameIn(child(node, 'left'));
    case 'Super':
      return 'super';
    case 'CallExpression':
      return nameOfCall(node);
    default:
      return undefined;
  }
};

const nameOfCall = (node: Node): string | undefined => {
  const callee = child(node, 'callee');
  const name = nameIn(callee) ?? '';
  if (OF_THEIR_ARGUMENT.has(name)) return nameIn(argumentsOf(node)[0]);
  return OF_THEIR_OBJECT.has(name) ? nameIn(child(callee, 'object')) : name;
};
