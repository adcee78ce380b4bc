/**
 * The simulator as the image of a CNF: HTTP on 80 and HTTPS on 443. Without a certificate of its own it makes one at the
 * start, as OpenWRT's image does; nobody can verify that one.
 */
import 'reflect-metadata';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** What px5g gives a fresh OpenWRT. */
const LIFETIME_MS = 730 * 86_400_000;

const makeCertificate = async (): Promise<{ certificate: string; key: string }> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: [{ CN: ['OpenWrt'] }],
    notBefore: new Date(),
    notAfter: new Date(Date.now() + LIFETIME_MS),
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname() }])],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: certificate.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
};

if (process.env['SIMULATOR_TLS_CERTIFICATE'] === undefined) {
  const { certificate, key } = await makeCertificate();
  const folder = await mkdtemp(join(tmpdir(), 'uhttpd-'));
  process.env['SIMULATOR_TLS_CERTIFICATE'] = join(folder, 'uhttpd.crt');
  process.env['SIMULATOR_TLS_KEY'] = join(folder, 'uhttpd.key');
  await writeFile(process.env['SIMULATOR_TLS_CERTIFICATE'], certificate);
  await writeFile(process.env['SIMULATOR_TLS_KEY'], key, { mode: 0o600 });
}
await import('./main.ts');
