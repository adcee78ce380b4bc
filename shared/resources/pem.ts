/**
 * Certificates and keys as CRs and Secrets hold them: PEM, or base64 of it, several parts joined by
 * `___` as ICN's REST takes them. What comes out is one block per item, written in one way only,
 * since files are told by their contents.
 */

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([^-]*)-----END \1-----/g;
const LINE = /.{1,64}/g;
const KEY_LABELS: ReadonlySet<string> = new Set([
  'PRIVATE KEY',
  'RSA PRIVATE KEY',
  'EC PRIVATE KEY',
]);

type Block = { label: string; text: string };

/** Certificates in order; undefined for anything else. */
export const certificatesIn = (value: string): readonly string[] | undefined => {
  const blocks = blocksIn(value);
  return blocks?.every(({ label }) => label === 'CERTIFICATE')
    ? blocks.map(({ text }) => text)
    : undefined;
};

/** The one private key; undefined for anything else, keys that need a passphrase among it. */
export const privateKeyIn = (value: string): string | undefined => {
  // `openssl ecparam -genkey` writes the curve in front.
  const blocks = blocksIn(value)?.filter(({ label }) => label !== 'EC PARAMETERS') ?? [];
  const [key, ...others] = blocks;
  return key && others.length === 0 && KEY_LABELS.has(key.label) ? key.text : undefined;
};

const blocksIn = (value: string): readonly Block[] | undefined => {
  const texts = value.includes('-----BEGIN ')
    ? [value]
    : value
        .split('_')
        .filter((part) => part !== '')
        .map((part) => Buffer.from(part, 'base64').toString('latin1'));
  const blocks: Block[] = [];
  for (const text of texts) {
    const found = [...text.matchAll(BLOCK)].map(([, label = '', body = '']) =>
      blockOf(label, body),
    );
    if (found.length === 0) return undefined;
    for (const block of found) {
      if (block === undefined) return undefined;
      blocks.push(block);
    }
  }
  return blocks.length > 0 ? blocks : undefined;
};

/** Undefined for a body with headers, too: those of keys that need a passphrase. */
const blockOf = (label: string, body: string): Block | undefined => {
  const base64 = body.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  const lines = base64.match(LINE) ?? [];
  return {
    label,
    text: [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n'),
  };
};
