/**
 * Makes and reads the two kinds of certificates that we use: a CA, and a serving certificate signed
 * by it. PEM in, PEM out.
 */
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { X509Certificate, type webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** A certificate with its private key (PKCS #8), both PEM. */
export type Pair = { cert: string; key: string };

export type Validity = {
  /** Milliseconds since 1970; certificates hold whole seconds, rounded down. */
  issuedAt: number;
  lifetimeMs: number;
};

/** Certificates are valid a little before they are made, for clocks that are behind ours. */
export const CLOCK_SKEW_MS = 5 * 60_000;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const { KeyUsageFlags: usage } = x509;

/** CAs of the same name are told apart by their key ids, which serving certificates name. */
export const createCa = async (commonName: string, validity: Validity): Promise<Pair> => {
  const keys = await newKeys();
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    ...dates(validity),
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(usage.keyCertSign | usage.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: cert.toString('pem'), key: await exportKey(keys.privateKey) };
};

/** Valid for exactly these DNS names and IP addresses, and never longer than its CA. */
export const issueServing = async (
  ca: Pair,
  names: readonly string[],
  validity: Validity,
): Promise<Pair> => {
  const issuer = new x509.X509Certificate(ca.cert);
  const keys = await newKeys();
  const { notBefore, notAfter } = dates(validity);
  const cert = await x509.X509CertificateGenerator.create({
    notBefore,
    notAfter: notAfter < issuer.notAfter ? notAfter : issuer.notAfter,
    subject: [{ CN: [names[0] ?? 'sdewan-coordinator'] }],
    issuer: issuer.subjectName,
    signingKey: await importKey(ca.key),
    publicKey: keys.publicKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(usage.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map(altName)),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { cert: cert.toString('pem'), key: await exportKey(keys.privateKey) };
};

export type CertificateFacts = {
  /** When we made it: `notBefore` plus the skew. Milliseconds since 1970, like `expiresAt`. */
  issuedAt: number;
  expiresAt: number;
};

/** @throws when the text is no certificate */
export const inspect = (cert: string): CertificateFacts => {
  const parsed = new X509Certificate(cert);
  return {
    issuedAt: parsed.validFromDate.getTime() + CLOCK_SKEW_MS,
    expiresAt: parsed.validToDate.getTime(),
  };
};

/** Whether a client that asks for this DNS name or IP address accepts the certificate. */
export const isValidFor = (cert: string, name: string): boolean => {
  const parsed = new X509Certificate(cert);
  return (isIP(name) ? parsed.checkIP(name) : parsed.checkHost(name)) !== undefined;
};

/** @throws when either text is no certificate */
export const isSignedBy = (cert: string, ca: string): boolean => {
  const issuer = new X509Certificate(ca);
  return new X509Certificate(cert).verify(issuer.publicKey);
};

/** The single certificates of a PEM bundle, in order. */
export const splitBundle = (bundle: string): string[] =>
  bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];

const dates = ({ issuedAt, lifetimeMs }: Validity): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(issuedAt - CLOCK_SKEW_MS),
  notAfter: new Date(issuedAt + lifetimeMs),
});

const altName = (name: string): x509.JsonGeneralName => ({
  type: isIP(name) ? 'ip' : 'dns',
  value: name,
});

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const exportKey = async (key: CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

const importKey = (pem: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);
