/**
 * The texts of a source file, with what the code does with them: found in its syntax tree, so that no list of messages has to be kept by
 * hand. What is only known at run time is shown by its name: `no pod has purpose <purpose>`. Pure.
 */
import { parseAst } from 'vitest/node';
import { argumentsOf, child, isNode, literalOf, nameIn, nodesIn, type Node } from './syntax.ts';

export type Text = {
  text: string;
  /** Names of the calls, constructors, properties and constants around it in its statement, innermost first. */
  within: readonly string[];
  /** Of a log message: its level, and the keys of its fields. */
  log?: { level: string; keys: readonly string[] };
  /** The `reason` of the same object, or the first argument of the same call, where it is a word in CamelCase. */
  reason?: string;
};

/** Constants with a literal value, by name: they are shown in texts as what they are. */
export type Constants = ReadonlyMap<string, string>;

/** In the order of the file. @throws SyntaxError */
export const textsOf = (source: string, constants: Constants = new Map()): Text[] => {
  const found: Text[] = [];
  const visit = (node: Node, above: readonly Node[]): void => {
    // Types, imports and patterns hold no texts for people.
    if (/^(TS(?!As|Satisfies|NonNull)|Import|ExportAll)/.test(node.type)) return;
    if (isMarkup(node)) return;
    const texts = errorText(node, constants) ?? textOf(node, constants);
    if (texts !== undefined) {
      const context = contextOf([node, ...above]);
      for (const text of texts) found.push({ text, ...context });
      return;
    }
    for (const inner of Object.values(node).flatMap(nodesIn)) visit(inner, [node, ...above]);
  };
  for (const statement of statementsOf(source)) visit(statement, []);
  return found;
};

/** @throws SyntaxError */
export const constantsOf = (source: string): Constants =>
  new Map(
    statementsOf(source)
      .map((statement) => child(statement, 'declaration') ?? statement)
      .flatMap((statement) => nodesIn(statement['declarations']))
      .flatMap((declared): [string, string][] => {
        const name = nameIn(child(declared, 'id')) ?? '';
        const value = literalOf(child(declared, 'init'));
        return /^[A-Z][A-Z0-9_]+$/.test(name) && value !== undefined ? [[name, value]] : [];
      }),
  );

/** A part of a page: whoever looks for a message has it from kubectl, a log or an answer. */
const isMarkup = (node: Node): boolean =>
  node.type === 'TaggedTemplateExpression' && nameIn(child(node, 'tag')) === 'html';

const statementsOf = (source: string): Node[] =>
  parseAst(source, { lang: 'ts' }).body.filter((node) => isNode(node));

/** All that an expression can come to; undefined when it is no text. */
const textOf = (node: Node | undefined, constants: Constants): string[] | undefined => {
  const of = (field: string) => textOf(child(node, field), constants);
  if (node === undefined) return undefined;
  switch (node.type) {
    case 'Literal':
      return typeof node['value'] === 'string' ? [node['value']] : undefined;
    case 'TemplateLiteral':
      return [templateText(node, constants)];
    case 'ConditionalExpression':
      return both(of('consequent'), of('alternate'));
    case 'LogicalExpression':
      return both(of('left'), of('right'));
    case 'BinaryExpression':
      return node['operator'] === '+' ? sumOf(node, constants) : undefined;
    default:
      return undefined;
  }
};

const sumOf = (node: Node, constants: Constants): string[] | undefined => {
  const sides = [child(node, 'left'), child(node, 'right')];
  const texts = sides.map((side) => textOf(side, constants));
  if (texts.every((side) => side === undefined)) return undefined;
  const [left = [], right = []] = texts.map(
    (side, at) => side ?? [placeholder(sides[at], constants)],
  );
  return left.flatMap((one) => right.map((other) => one + other));
};

/** Errors that say what was tried, and then what came of it: `new OpenwrtError('reload firewall', 'it ended with code 1')`. */
const errorText = (node: Node, constants: Constants): string[] | undefined => {
  if (node.type !== 'NewExpression' || !isError(nameIn(child(node, 'callee')))) return undefined;
  const [attempted, message] = argumentsOf(node).map((argument) => textOf(argument, constants));
  return attempted && message && [`${attempted.join('|')}: ${message.join('|')}`];
};

export const isError = (name: string | undefined): boolean => name?.endsWith('Error') === true;

/** Where only one side is a text, that side is found by itself. */
const both = (one: string[] | undefined, other: string[] | undefined): string[] | undefined =>
  one && other && [...one, ...other];

const templateText = (node: Node, constants: Constants): string => {
  const inside = nodesIn(node['expressions']).map((expression) =>
    alternatives(textOf(expression, constants) ?? [placeholder(expression, constants)]),
  );
  return nodesIn(node['quasis'])
    .map(({ value }, at) => {
      const isCooked = typeof value === 'object' && value !== null && 'cooked' in value;
      return `${isCooked ? String(value.cooked) : ''}${inside[at] ?? ''}`;
    })
    .join('');
};

/** `a|b`, and `[a]` where it can be absent. */
const alternatives = (texts: readonly string[]): string => {
  const present = texts.filter((text) => text !== '').join('|');
  return present !== '' && texts.includes('') ? `[${present}]` : present;
};

const placeholder = (node: Node | undefined, constants: Constants): string => {
  const name = nameIn(node);
  return (name && constants.get(name)) ?? `<${name ?? '…'}>`;
};

/** `above`: from the text outwards, up to its statement. */
const contextOf = (above: readonly Node[]): Omit<Text, 'text'> => {
  const within = above.flatMap((node, at) => nameOfUse(node, above[at - 1]) ?? []);
  const [log] = above.flatMap((node) => logCall(node) ?? []);
  const [reason] = above.flatMap((node) => reasonOf(node) ?? []);
  return { within, ...(log && { log }), ...(reason !== undefined && { reason }) };
};

const nameOfUse = (node: Node, from: Node | undefined): string | undefined => {
  if (from === undefined)
    return node.type === 'NewExpression' ? nameIn(child(node, 'callee')) : undefined;
  switch (node.type) {
    case 'CallExpression':
    case 'NewExpression':
      return argumentsOf(node).includes(from) ? nameIn(child(node, 'callee')) : undefined;
    case 'Property':
      return nameIn(child(node, 'key'));
    case 'VariableDeclarator':
      return nameIn(child(node, 'id'));
    default:
      return undefined;
  }
};

const LEVELS = new Set(['debug', 'info', 'warn', 'error', 'fatal', 'level']);

const logCall = (node: Node): Text['log'] => {
  if (node.type !== 'CallExpression') return undefined;
  const callee = child(node, 'callee');
  const level = nameIn(child(callee, 'property'));
  if (level === undefined || !LEVELS.has(level) || nameIn(child(callee, 'object')) !== 'log')
    return undefined;
  const fields = argumentsOf(node).find(({ type }) => type === 'ObjectExpression');
  const keys = nodesIn(fields?.['properties']).map((field) => nameIn(child(field, 'key')) ?? '…');
  return { level: level === 'level' ? 'info or warn' : level, keys };
};

const reasonOf = (node: Node): string | undefined => {
  const values =
    node.type === 'CallExpression'
      ? argumentsOf(node).slice(0, 1)
      : nodesIn(node['properties'])
          .filter((property) => nameIn(child(property, 'key')) === 'reason')
          .flatMap((property) => nodesIn(property['value']));
  return values
    .flatMap((value) => textOf(value, new Map()) ?? [])
    .find((word) => /^[A-Z][a-z]+[A-Za-z]*$/.test(word));
};
