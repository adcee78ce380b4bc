/** The certificate that a fresh OpenWRT makes for itself, and that cannot be verified. */
import 'reflect-metadata';
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** What px5g gives a fresh OpenWRT. */
const LIFETIME_MS = 730 * 86_400_000;

/** PEM texts. */
export const makeCertificate = async (
  host: string,
): Promise<{ certificate: string; key: string }> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: [{ CN: ['OpenWrt'] }],
    notBefore: new Date(),
    notAfter: new Date(Date.now() + LIFETIME_MS),
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
};
