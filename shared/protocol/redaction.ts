/**
 * Takes secrets out of what people are shown. A secret is replaced by a mark that is the same for
 * the same value and tells nothing of it, so that a difference between two secrets is still seen.
 * Pure, but for the key of the marks, which lives as long as the redaction.
 */
import { createHmac, randomBytes } from 'node:crypto';

export type Redaction = {
  /** Values that must not be shown anywhere; short ones are hidden only by their name. */
  add: (values: Iterable<string>) => void;
  /** Takes the value of one option or field. */
  value: (name: string, value: string) => string;
  text: (text: string) => string;
  /** A whole object, by the names of its fields. */
  json: (value: unknown) => unknown;
};

/** Words of a name. `keyexchange` and `crypto_proposal` are none. */
const SECRET_NAME =
  /(^|[_./-])(key|keys|psk|pin|token|tokens|session|sessionid|secret|secrets)($|[_.-])|passw|passphrase|preshared|private|credential|[_-]cert($|[_-])|^cert$|_ca$|kubeconfig|authorization|cookie|bearer|(secret|token|password|session|private|api)key$|(session|auth|access)_?(id|token)$/i;
/** Where a Secret is, which is no secret. */
const REFERENCE = /(_from|name|file|path|dir|kind|resource|mount|type|lifetime|ref)s?$/i;
const PEM = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?(-----END \1-----|$)/g;
const JWT = /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g;
/** A session of ubus, in whatever text. */
const SESSION = /(?<!sdewan-)\b[0-9a-f]{32}\b/g;
/** What is shorter would hide words that mean something else. */
const MIN_LENGTH = 6;

export const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name.replaceAll(/([a-z])([A-Z])/g, '$1_$2')) && !REFERENCE.test(name);

export const createRedaction = (): Redaction => {
  const key = randomBytes(16);
  const known = new Set<string>();
  /** The longest first: one may be a part of another. */
  let ordered: readonly string[] | undefined;
  const mark = (value: string): string =>
    `[secret ${createHmac('sha256', key).update(value).digest('hex').slice(0, 6)}]`;
  const text = (given: string): string => {
    ordered ??= [...known].sort((a, b) => b.length - a.length);
    const patterned = [PEM, JWT, SESSION].reduce(
      (so, pattern) => so.replaceAll(pattern, (found) => mark(found)),
      given,
    );
    return ordered.reduce(
      (so, secret) => (so.includes(secret) ? so.replaceAll(secret, mark(secret)) : so),
      patterned,
    );
  };
  const value = (name: string, given: string): string =>
    given !== '' && isSecretName(name) ? mark(given) : text(given);
  const json = (given: unknown, name = ''): unknown => {
    if (typeof given === 'string') return value(name, given);
    if (Array.isArray(given)) return given.map((one: unknown) => json(one, name));
    if (typeof given !== 'object' || given === null) return given;
    const isReference = REFERENCE.test(name);
    return Object.fromEntries(
      Object.entries(given).map(([at, one]) => [at, json(one, isReference ? '' : at)]),
    );
  };
  return {
    add: (values) => {
      for (const one of values) {
        if (one.trim().length < MIN_LENGTH) continue;
        for (const form of [one, one.trim(), Buffer.from(one).toString('base64')]) known.add(form);
      }
      ordered = undefined;
    },
    value,
    text,
    json: (given) => json(given),
  };
};
