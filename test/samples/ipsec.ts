/** Specs of IPsec remotes for end-to-end tests, and the certificate files that they come to. */
import { createHash } from 'node:crypto';
import type { Spec } from './uci-table.ts';

const connection = (name: string) => ({ name, conn_type: 'tunnel', mode: 'start' });

export const remoteByKey = (remote: string, connectionName: string, proposal: string): Spec => ({
  remote,
  authentication_method: 'psk',
  pre_shared_key: 'e2e-key',
  crypto_proposal: [proposal],
  connections: [connection(connectionName)],
});

/** @param of stands for what would be in a certificate */
export const remoteByCertificate = (of: string): Spec => ({
  remote: '203.0.113.1',
  authentication_method: 'pubkey',
  crypto_proposal: ['k-prop'],
  local_public_cert: Buffer.from(pemOf('CERTIFICATE', of)).toString('base64'),
  local_private_cert: Buffer.from(pemOf('PRIVATE KEY', of)).toString('base64'),
  connections: [connection('k-h')],
});

const pemOf = (label: string, of: string): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(of).toString('base64')}\n-----END ${label}-----\n`;

export const certificateOf = (of: string): string => pemOf('CERTIFICATE', of);

export const certificateFileOf = (of: string): string => {
  const hash = createHash('sha256').update(certificateOf(of)).digest('hex');
  return `/etc/ipsec.d/certs/sdewan-${hash.slice(0, 32)}.pem`;
};
