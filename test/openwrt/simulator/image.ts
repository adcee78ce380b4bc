/**
 * The simulator as the image of a CNF: HTTP on 80 and HTTPS on 443. Without a certificate of its
 * own it makes one at the start, as OpenWRT's image does; that one cannot be verified.
 */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from './uhttpd/certificate.ts';

if (process.env['SIMULATOR_TLS_CERTIFICATE'] === undefined) {
  const { certificate, key } = await makeCertificate(hostname());
  const folder = await mkdtemp(join(tmpdir(), 'uhttpd-'));
  process.env['SIMULATOR_TLS_CERTIFICATE'] = join(folder, 'uhttpd.crt');
  process.env['SIMULATOR_TLS_KEY'] = join(folder, 'uhttpd.key');
  await writeFile(process.env['SIMULATOR_TLS_CERTIFICATE'], certificate);
  await writeFile(process.env['SIMULATOR_TLS_KEY'], key, { mode: 0o600 });
}
await import('./main.ts');
