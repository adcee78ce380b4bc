/**
 * Brings the nodes of a YAML document from one value to another, touching only what differs:
 * comments and order of the rest stay.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  isMap,
  isNode,
  isSeq,
  parseDocument,
  stringify,
  type DocumentOptions,
  type Node,
  type ParseOptions,
  type SchemaOptions,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

type YamlOptions = ParseOptions & DocumentOptions & SchemaOptions;
type Fields = Record<string, unknown>;

/**
 * The node to put in the place of `node`, which means `before`; usually `node` itself. `options`:
 * how its document was parsed.
 */
export const edited = <T extends Node | null>(
  node: T,
  before: unknown,
  after: unknown,
  options: YamlOptions,
): T => {
  if (isDeepStrictEqual(before, after)) return node;
  if (isMap(node) && isFields(before) && isFields(after)) editMap(node, before, after, options);
  else if (isSeq(node) && Array.isArray(before) && Array.isArray(after))
    editList(node, before, after, options);
  // A node that means `after`, of whatever class that is.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  else return newNode(after, options) as T;
  return node;
};

const editMap = (map: YAMLMap, before: Fields, after: Fields, options: YamlOptions): void => {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) map.delete(key);
  for (const [key, value] of Object.entries(after)) {
    if (isDeepStrictEqual(before[key], value)) continue;
    const node = map.get(key, true);
    map.set(
      key,
      isNode(node) ? edited(node, before[key], value, options) : newNode(value, options),
    );
  }
};

const editList = (
  list: YAMLSeq,
  before: readonly unknown[],
  after: readonly unknown[],
  options: YamlOptions,
): void => {
  const known = before.map(identityOf);
  const nodes = list.items;
  list.items = after.map((item) => {
    const place = known.indexOf(identityOf(item));
    const node = nodes[place];
    return isNode(node) ? edited(node, before[place], item, options) : newNode(item, options);
  });
};

/** What stays the same when a container, volume or mount changes. */
const identityOf = (item: unknown): string =>
  JSON.stringify(isFields(item) && 'name' in item ? [item['name'], item['mountPath']] : item);

/** By way of text, so that what looks like a number or a boolean to any YAML reader is quoted. */
const newNode = (value: unknown, options: YamlOptions): Node | null =>
  parseDocument(
    stringify(value, { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false }),
    options,
  ).contents;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
