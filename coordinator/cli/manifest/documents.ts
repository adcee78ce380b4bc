/**
 * A manifest file as text that people wrote: YAML with any number of documents, or JSON. What a
 * document means is read by the usual schema; what is written back is edited in a tree in which
 * every scalar is still the text that stood there (`0644` stays `0644`). Documents that do not
 * change come back to the byte.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  parseAllDocuments,
  Scalar,
  stringify,
  type Document,
  type DocumentOptions,
  type ParseOptions,
  type SchemaOptions,
  type ScalarTag,
  type ToStringOptions,
  type YAMLError,
} from 'yaml';
import { edited } from './edit.ts';
import { AS_KUBECTL } from './scalars.ts';

/** What is wrong with the text itself, and where. */
export class ManifestError extends Error {
  override name = 'ManifestError';
  /** Both from 1; undefined where it is no one place. */
  readonly at: { line: number; column: number } | undefined;

  constructor(message: string, options: ErrorOptions & { at?: ManifestError['at'] } = {}) {
    super(message, options);
    this.at = options.at;
  }
}

/** There is nothing in the text. */
export class NoDocumentsError extends ManifestError {
  override name = 'NoDocumentsError';
}

/**
 * What becomes of the value of the document at `index`, counted from 0. Returns its argument, or an
 * equal one, to change nothing; `undefined`: the document goes.
 */
export type Transform = (value: unknown, index: number) => unknown;

type YamlOptions = ParseOptions & DocumentOptions & SchemaOptions;

/** An absent value stays absent: without this tag it would be an empty text. */
const nothing: ScalarTag = {
  tag: 'tag:yaml.org,2002:null',
  default: true,
  test: /^$/,
  identify: (value) => value === null,
  resolve: () => new Scalar(null),
  stringify: ({ source }) => source ?? 'null',
};
const AS_WRITTEN: YamlOptions = {
  schema: 'failsafe',
  customTags: (tags) => [...tags, nothing],
};

/** The text with every document transformed. @throws ManifestError, and what `transform` throws */
export const transformManifest = (text: string, transform: Transform): string => {
  if (isJson(text)) return transformJson(text, transform);
  const meanings = parse(text, AS_KUBECTL);
  const written = parse(text, AS_WRITTEN);
  if (written.length === 0) return text;
  return written
    .map((document, index) => {
      const source = text.slice(startOf(written, index), startOf(written, index + 1));
      const before: unknown = meanings[index]?.toJS();
      const after = transform(before, index);
      if (isDeepStrictEqual(before, after)) return source;
      if (after === undefined) return '';
      document.contents = edited(document.contents, before, after, AS_WRITTEN);
      const changed = document.toString(styleOf(source));
      if (!isDeepStrictEqual(parse(changed, AS_KUBECTL)[0]?.toJS(), after))
        throw new ManifestError(
          `document ${index + 1} uses YAML anchors in a part that must change; replace them by what they stand for`,
        );
      return changed;
    })
    .join('');
};

/** @throws NoDocumentsError for blanks and comments alone, ManifestError for no manifest */
export const requireDocuments = (text: string): void => {
  if (parse(text, AS_KUBECTL).every((document) => document.toJS() === null))
    throw new NoDocumentsError('no documents');
};

/** The text with further documents behind it. JSON becomes the first one of YAML, as in kubectl. */
export const withDocuments = (text: string, values: readonly unknown[]): string => {
  if (values.length === 0) return text;
  const first = isJson(text) ? `---\n${text}` : text;
  const head = first === '' || first.endsWith('\n') ? first : `${first}\n`;
  return [head, ...values.map((value) => `---\n${stringify(value)}`)].join('');
};

const isJson = (text: string): boolean => text.trimStart().startsWith('{');

const transformJson = (text: string, transform: Transform): string => {
  let before: unknown;
  try {
    before = JSON.parse(text);
  } catch (cause) {
    // JSON is YAML, and its reader says where.
    parse(text, AS_KUBECTL);
    throw new ManifestError(`not JSON: ${String(cause)}`, { cause });
  }
  const after = transform(before, 0);
  if (after === undefined) return '';
  return isDeepStrictEqual(before, after) ? text : `${JSON.stringify(after, null, 2)}\n`;
};

const parse = (text: string, options: YamlOptions): Document.Parsed[] => {
  const documents = [...parseAllDocuments(text, options)];
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error) throw documentError(error);
  return documents;
};

/** In one line, with its place. */
export const documentError = ({ message, linePos }: YAMLError): ManifestError => {
  // Its further lines repeat the text around.
  const [first = ''] = message.split('\n', 1);
  const words = first.replace(/ at line \d+, column \d+:?$/, '');
  const [start] = linePos ?? [];
  return new ManifestError(
    `not YAML: ${words}`,
    start && { at: { line: start.line, column: start.col } },
  );
};

/** Comments before the first document belong to it. */
const startOf = (documents: readonly Document.Parsed[], index: number): number | undefined =>
  index === 0 ? 0 : documents[index]?.range[0];

/** A list that is not indented below its key, as kubectl writes it. */
const FLAT_LIST = /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*\1- /m;
const FIRST_INDENT = /:[ \t]*\n( +)[^\s#-]/;
const PADDED_MAP = /\{ /;

/** As the author indents. */
const styleOf = (source: string): ToStringOptions => ({
  lineWidth: 0,
  indent: FIRST_INDENT.exec(source)?.[1]?.length ?? 2,
  indentSeq: !FLAT_LIST.test(source),
  flowCollectionPadding: PADDED_MAP.test(source),
});
