/**
 * Certificates and keys of IPsec remotes: files in the folders of the IPsec service, and the
 * options that refer to them.
 */
import type { UciSection } from '../../uci/model.ts';
import { baseName, fileSection, ownFileName } from '../device-files.ts';
import type { IpsecDialect } from '../capabilities.ts';
import type { Lack, RenderContext, SecretUse } from '../kind.ts';
import { certificatesIn, privateKeyIn } from '../pem.ts';

export type Certificates = {
  authentication_method: 'psk' | 'pubkey';
  local_public_cert?: string | undefined;
  local_private_cert?: string | undefined;
  local_private_cert_from?: { name: string; key: string } | undefined;
  shared_ca?: string | undefined;
};

type Role = 'certificate' | 'key' | 'ca';
const ROLES: readonly Role[] = ['certificate', 'key', 'ca'];

/** Where each service looks for its files. */
export const CERTIFICATE_FOLDERS: Readonly<Record<IpsecDialect, Readonly<Record<Role, string>>>> = {
  classic: {
    certificate: '/etc/ipsec.d/certs',
    key: '/etc/ipsec.d/private',
    ca: '/etc/ipsec.d/cacerts',
  },
  swanctl: {
    certificate: '/etc/swanctl/x509',
    key: '/etc/swanctl/private',
    ca: '/etc/swanctl/x509ca',
  },
};

/** As far as an OpenWRT's message goes: the largest Secret that makes sense. */
const MAX_KEY_LENGTH = 65_536;

export const certificateSecrets = ({ local_private_cert_from: from }: Certificates): SecretUse[] =>
  from ? [{ path: 'spec.local_private_cert_from', ...from }] : [];

/** `must`: what the key has to be. */
export const wrongKey = (path: string, must: string): Lack => ({
  path,
  reason: 'InvalidSecret',
  message: `the key in the Secret ${must}`,
});

export const certificateLacks = (spec: Certificates, context: RenderContext): Lack[] => {
  if (spec.authentication_method !== 'pubkey') return [];
  const { noCertificates } = context.capabilities.ipsec;
  const lacks: Lack[] = [];
  if (noCertificates !== undefined) {
    lacks.push({
      path: 'spec.authentication_method',
      reason: 'UnsupportedByDriver',
      message: `pubkey needs certificate files on OpenWRT: ${noCertificates}`,
    });
  }
  if (spec.local_private_cert_from && keyOf(spec, context) === undefined) {
    lacks.push(wrongKey('spec.local_private_cert_from', PRIVATE_KEY_MUST));
  }
  return lacks;
};

export const CERTIFICATE_MUST = 'must be base64 of certificates as PEM, several joined by ___';
export const PRIVATE_KEY_MUST =
  'must be one private key as PEM, or base64 of that, without a passphrase';

const keyOf = (spec: Certificates, { secretOf }: RenderContext): string | undefined => {
  const from = spec.local_private_cert_from;
  const value = from ? secretOf(from.name, from.key) : (spec.local_private_cert ?? '');
  return value.length > MAX_KEY_LENGTH ? undefined : privateKeyIn(value);
};

/** In the given order; the first certificate is the remote's own, the others lead to its CA. */
const filesByRole = (
  spec: Certificates,
  context: RenderContext,
): Readonly<Record<Role, readonly UciSection[]>> => {
  const isUsed = spec.authentication_method === 'pubkey';
  const folders = CERTIFICATE_FOLDERS[context.capabilities.ipsec.dialect];
  const files = (role: Role, contents: readonly (string | undefined)[] = []) =>
    contents
      .filter((content) => isUsed && content !== undefined)
      .map((content = '') => fileSection(`${folders[role]}/${ownFileName(content)}`, content));
  return {
    certificate: files('certificate', certificatesIn(spec.local_public_cert ?? '')),
    key: files('key', [keyOf(spec, context)]),
    ca: files('ca', certificatesIn(spec.shared_ca ?? '')),
  };
};

export const certificateFiles = (
  spec: Certificates,
  context: RenderContext,
): readonly UciSection[] => {
  const files = filesByRole(spec, context);
  return ROLES.flatMap((role) => files[role]);
};

/** ICN's init script gives strongSwan the paths as they are, with which it made them. */
export const classicCertificates = (spec: Certificates, context: RenderContext) => {
  const { certificate, key, ca } = filesByRole(spec, context);
  const paths = (files: readonly UciSection[]) => files.map(({ name }) => name).join(', ');
  return {
    local_public_cert: paths(certificate),
    local_private_cert: paths(key),
    shared_ca: paths(ca),
  };
};

/**
 * The script takes one name of each sort, and strongSwan loads what lies in the folders:
 * `local_chain` is only for people who read the section. `remote_ca_certs` (23.05 and later) has
 * the other side trusted by these CAs alone, not by another rule's.
 */
export const swanctlCertificates = (spec: Certificates, context: RenderContext) => {
  const { certificate, key, ca } = filesByRole(spec, context);
  const names = (files: readonly UciSection[]) => files.map(({ name }) => baseName(name));
  const [own, ...chain] = names(certificate);
  return {
    local_cert: own,
    local_chain: chain,
    local_key: names(key)[0],
    ca_cert: names(ca)[0],
    remote_ca_certs: names(ca),
  };
};
