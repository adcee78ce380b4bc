/** The objects of a manifest, and where in the text each of their fields stands. */
import { isMap, isPair, isScalar, isSeq, LineCounter, parseAllDocuments, type Node } from 'yaml';
import { withoutNulls } from '#shared/util/nulls.ts';
import { documentError, NoDocumentsError } from './documents.ts';
import { AS_KUBECTL } from './scalars.ts';

/** Both from 1. */
export type Position = { line: number; column: number };
export type Path = readonly (string | number)[];

export type Located = {
  value: unknown;
  /** With the fields that have no value, which `value` has not. */
  written: unknown;
  /** The place of a field; where it is not there, that of the nearest thing around it. */
  at: (path: Path) => Position;
};

/** Documents without content are left out, and Lists are what is in them. @throws ManifestError */
export const locatedObjects = (text: string): Located[] => {
  const lineCounter = new LineCounter();
  const documents = [...parseAllDocuments(text, { ...AS_KUBECTL, lineCounter })];
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error) throw documentError(error);
  const located = documents.flatMap((document) => {
    const written: unknown = document.toJS();
    if (written === null) return [];
    const at = (path: Path): Position => {
      const { line, col } = lineCounter.linePos(offsetOf(document.contents, path));
      return { line, column: col };
    };
    return itemsOf({ written, at });
  });
  if (located.length === 0) throw new NoDocumentsError('no documents');
  return located;
};

const itemsOf = ({ written, at }: Omit<Located, 'value'>): Located[] => {
  if (!isList(written)) return [{ value: withoutNulls(written), written, at }];
  return written.items.flatMap((item: unknown, index) =>
    itemsOf({ written: item, at: (path) => at(['items', index, ...path]) }),
  );
};

const isList = (value: unknown): value is { items: unknown[] } =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  String(value.kind).endsWith('List') &&
  'items' in value &&
  Array.isArray(value.items);

/** The offset of the key for a field, of the item in a list. */
const offsetOf = (root: Node | null, path: Path): number => {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const key of path) {
    const next = childOf(node, key);
    if (!next) break;
    ({ node, offset } = next);
  }
  return offset;
};

const childOf = (
  node: unknown,
  key: string | number,
): { node: unknown; offset: number } | undefined => {
  if (isMap(node)) {
    const pair = node.items.find(
      (one) => isPair(one) && isScalar(one.key) && one.key.value === key,
    );
    return pair && { node: pair.value, offset: startOf(pair.key) };
  }
  if (!isSeq(node)) return undefined;
  const item = node.items[Number(key)];
  return item === undefined ? undefined : { node: item, offset: startOf(item) };
};

const startOf = (node: unknown): number =>
  (isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined) ?? 0;

/** `spec.members[0].network` and `metadata.annotations[a.b/c]` as keys. */
export const pathOf = (field: string): Path =>
  [...field.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, key = '']) =>
    index === undefined ? key : /^\d+$/.test(index) ? Number(index) : index,
  );
