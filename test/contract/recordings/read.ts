/**
 * The exchanges recorded on real devices, read from the files of this folder (README.md tells their
 * form). A recording that is absent or lacks an exchange is an error: what is not there is never
 * passed over.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';

const headersSchema = z.record(z.string(), z.string());
/** An own header takes the usual one's place; null: the usual one was not sent. */
const ownHeadersSchema = z.record(z.string(), z.string().nullable()).default({});
const bodySchema = {
  headers: ownHeadersSchema,
  body: z.string().optional(),
  json: z.json().optional(),
  /** Length of the whole body, of which the record holds the beginning. */
  body_truncated_from: z.int().optional(),
};

const storedSchema = z.strictObject({
  name: z.string(),
  request: z.strictObject({ line: z.string(), ...bodySchema }),
  response: z.strictObject({ line: z.string(), ...bodySchema }).optional(),
  /** The bytes of the answer, where these were recorded and not the answer. */
  response_raw: z.string().optional(),
  client_side: z.record(z.string(), z.json()).optional(),
  ms: z.number().optional(),
  note: z.string().optional(),
});

const recordingSchema = z.strictObject({
  meta: z.record(z.string(), z.json()),
  headers: z.strictObject({ request: headersSchema, response: headersSchema }),
  slashes_in_answers: z.enum(['plain', 'escaped']),
  topics: z.record(z.string(), z.int().positive()),
});

type Stored = z.infer<typeof storedSchema>;
type Frame = z.infer<typeof recordingSchema>;

export type Exchange = Omit<Stored, 'request' | 'response'> & {
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string | null;
    body_truncated_from?: number | undefined;
  };
  response?: {
    status: number;
    reason: string;
    headers: Record<string, string>;
    body: string;
    body_truncated_from?: number | undefined;
  };
};

export type Recording = { meta: Frame['meta']; exchanges: readonly Exchange[] };

/** The text that ends a recorded body that was cut. */
export const CUT = '...';

/**
 * @throws where a file is absent, or holds another number of exchanges than recording.yaml says.
 */
export const readRecording = (
  name: 'ubus' | 'ubus-apply' | 'icn-rest' | 'icn-rest-more',
): Recording => {
  const directory = `${import.meta.dirname}/${name}`;
  const frame = recordingSchema.parse(yaml(`${directory}/recording.yaml`));
  const exchanges = Object.entries(frame.topics).flatMap(([topic, count]) => {
    const stored = z.array(storedSchema).parse(yaml(`${directory}/${topic}.yaml`));
    if (stored.length !== count)
      throw new Error(
        `${name}/${topic}.yaml has ${stored.length} exchanges; ${count} were recorded`,
      );
    return stored.map((one) => exchangeOf(one, frame));
  });
  return { meta: frame.meta, exchanges };
};

const yaml = (path: string): unknown => parse(readFileSync(path, 'utf8'));

const exchangeOf = ({ request, response, ...rest }: Stored, frame: Frame): Exchange => {
  const [method, path] = splitOnce(request.line);
  return {
    ...rest,
    request: {
      method,
      path,
      headers: headersOf(frame.headers.request, request.headers),
      body: bodyOf(request, spaced) ?? null,
      ...cutOf(request),
    },
    ...(response && { response: answerOf(response, frame) }),
  };
};

const answerOf = (
  response: NonNullable<Stored['response']>,
  { headers, slashes_in_answers: slashes }: Frame,
): NonNullable<Exchange['response']> => {
  const [status, reason] = splitOnce(response.line);
  const write = slashes === 'escaped' ? escaped : JSON.stringify;
  return {
    status: Number(status),
    reason,
    headers: headersOf(headers.response, response.headers),
    body: bodyOf(response, write) ?? '',
    ...cutOf(response),
  };
};

const headersOf = (
  usual: Record<string, string>,
  own: Record<string, string | null>,
): Record<string, string> => {
  const kept = Object.entries(usual).filter(([name]) => !(name in own));
  const sent = Object.entries(own).flatMap(([name, value]) =>
    value === null ? [] : [[name, value]],
  );
  return Object.fromEntries([...kept, ...sent]);
};

type Body = Pick<Stored['request'], 'body' | 'json' | 'body_truncated_from'>;

const bodyOf = (
  { body, json }: Body,
  write: (value: z.core.util.JSONType) => string,
): string | undefined => (json === undefined ? body : write(json));

const cutOf = ({ body_truncated_from: length }: Body): { body_truncated_from?: number } =>
  length === undefined ? {} : { body_truncated_from: length };

/** JSON with a blank after each comma and colon, as the recording client wrote it. */
export const spaced = (value: z.core.util.JSONType): string => {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${JSON.stringify(key)}: ${spaced(one)}`,
  );
  return `{${members.join(', ')}}`;
};

/** JSON as LuCI writes it. */
const escaped = (value: z.core.util.JSONType): string =>
  JSON.stringify(value).replaceAll('/', String.raw`\/`);

const splitOnce = (line: string): [string, string] => {
  const [first = '', ...rest] = line.split(' ');
  return [first, rest.join(' ')];
};
