/**
 * Fresh secrets of one cluster: the admin's token and the key that signs service-account tokens.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Credentials = {
  adminToken: string;
  tokenFile: string;
  serviceAccountKey: string;
  serviceAccountPublicKey: string;
  /** The API server writes its self-made serving pair here; the certificate carries its CA. */
  certificateDirectory: string;
  servingCertificate: string;
  servingKey: string;
  /** Kubeconfig of controller-manager and scheduler. */
  kubeconfig: string;
};

/** Writes the files, readable by this user alone; names those that others will write. */
export const writeCredentials = async (directory: string): Promise<Credentials> => {
  const adminToken = randomBytes(24).toString('base64url');
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const certificateDirectory = join(directory, 'certificates');
  const credentials: Credentials = {
    adminToken,
    tokenFile: join(directory, 'tokens.csv'),
    serviceAccountKey: join(directory, 'service-account.key'),
    serviceAccountPublicKey: join(directory, 'service-account.pub'),
    certificateDirectory,
    servingCertificate: join(certificateDirectory, 'apiserver.crt'),
    servingKey: join(certificateDirectory, 'apiserver.key'),
    kubeconfig: join(directory, 'control-plane.kubeconfig'),
  };
  const secret = { mode: 0o600 };
  await Promise.all([
    writeFile(credentials.tokenFile, `${adminToken},admin,admin,"system:masters"\n`, secret),
    writeFile(credentials.serviceAccountKey, privateKey, secret),
    writeFile(credentials.serviceAccountPublicKey, publicKey, secret),
  ]);
  return credentials;
};
