/**
 * What the certificate Secret holds. `tls.crt`, `tls.key` and `ca.crt` are named as in every TLS
 * Secret, so one that cert-manager or a person made reads the same; the other keys are there only
 * when the coordinator is its own CA.
 */
import { readTokens, writeTokens, type PathToken } from './path-tokens.ts';
import { isSignedBy, splitBundle, type Pair } from './x509.ts';

export type Material = {
  serving: Pair;
  /** PEM of every CA that clients have to trust, newest first. */
  trusted: readonly string[];
  /** Signs serving certificates now. Absent in a Secret that others provide. */
  signing: Pair | undefined;
  /** Is trusted already and will sign when every client has it. */
  next: Pair | undefined;
  /** Ends of our webhooks' paths, newest first. None in a Secret that others provide. */
  tokens: readonly PathToken[];
};

/** Base64 values, as in a Secret's `data`. */
export type SecretData = Readonly<Record<string, string>>;

const KEYS = {
  servingCert: 'tls.crt',
  servingKey: 'tls.key',
  trusted: 'ca.crt',
  signingCert: 'ca-signing.crt',
  signingKey: 'ca-signing.key',
  nextCert: 'ca-next.crt',
  nextKey: 'ca-next.key',
  tokens: 'webhook-tokens',
} as const;

/** Undefined when it is empty, incomplete or garbage: there is nothing to serve with. */
export const readMaterial = (data: SecretData | undefined): Material | undefined => {
  const text = (key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  const pair = (cert: string, key: string): Pair | undefined =>
    text(cert) !== '' && text(key) !== '' ? { cert: text(cert), key: text(key) } : undefined;
  const serving = pair(KEYS.servingCert, KEYS.servingKey);
  const trusted = splitBundle(text(KEYS.trusted));
  if (serving === undefined || trusted.length === 0) return undefined;
  const material = {
    serving,
    trusted,
    signing: pair(KEYS.signingCert, KEYS.signingKey),
    next: pair(KEYS.nextCert, KEYS.nextKey),
    tokens: readTokens(text(KEYS.tokens)),
  };
  return isUsable(material) ? material : undefined;
};

/** Others put a certificate there, e.g. cert-manager: it is used as it is, never written. */
export const isProvided = (data: SecretData | undefined): boolean =>
  (data?.[KEYS.servingCert] ?? '') !== '' && (data?.[KEYS.signingKey] ?? '') === '';

/** `data` with the material in it. Keys of others stay. */
export const writeMaterial = (material: Material, data: SecretData = {}): SecretData => {
  const encode = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : Buffer.from(text).toString('base64');
  const ours = {
    [KEYS.servingCert]: encode(material.serving.cert),
    [KEYS.servingKey]: encode(material.serving.key),
    [KEYS.trusted]: encode(bundleOf(material)),
    [KEYS.signingCert]: encode(material.signing?.cert),
    [KEYS.signingKey]: encode(material.signing?.key),
    [KEYS.nextCert]: encode(material.next?.cert),
    [KEYS.nextKey]: encode(material.next?.key),
    [KEYS.tokens]: encode(writeTokens(material.tokens)),
  };
  const entries = Object.entries<string | undefined>({ ...data, ...ours });
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

export const bundleOf = ({ trusted }: Pick<Material, 'trusted'>): string =>
  `${trusted.join('\n')}\n`;

const isUsable = ({ serving, trusted }: Material): boolean => {
  try {
    return trusted.some((ca) => isSignedBy(serving.cert, ca));
  } catch {
    return false;
  }
};
