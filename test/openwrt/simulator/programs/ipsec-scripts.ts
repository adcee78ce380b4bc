/**
 * The init scripts of IPsec, as far as programs can tell them apart: by the words in them, and by
 * what they refuse. OpenWRT's own classic one takes psk only, that of ICN's image certificates,
 * too. swanctl's wants every file of a remote by its bare name, and refuses its whole configuration
 * for one that is not there, or for a cipher of AEAD with a hash (openwrt/packages,
 * net/strongswan/files). charon loads no remote with a proposal that has no group or no PRF, and
 * all others (seen on a device).
 */
import { existsSync } from 'node:fs';
import type { DeviceRoot } from '../root.ts';
import type { UciStore } from '../uci/store.ts';
import { createInitScript, type InitScriptDeps } from './init-script.ts';
import { complained, type Program } from './runner.ts';

/**
 * `icn` and `stock` are classic; `globals` is swanctl's of 2026, which reads its settings from the
 * section of that name.
 */
export type IpsecScript = 'icn' | 'stock' | 'swanctl' | 'swanctl-globals';

export const nameOf = (script: IpsecScript): 'ipsec' | 'swanctl' =>
  script === 'icn' || script === 'stock' ? 'ipsec' : 'swanctl';

const WORDS: Readonly<Record<IpsecScript, string>> = {
  icn: 'config_get local_public_cert "$1" local_public_cert',
  stock: 'warning "AuthenticationMethod $auth_method not supported"',
  swanctl: 'config_foreach config_ipsec ipsec',
  'swanctl-globals': 'config_strongswan_generate globals',
};

export const textOf = (script: IpsecScript): string =>
  `#!/bin/sh /etc/rc.common\n${WORDS[script]}\n`;

const FILES = [
  ['local_key', 'private'],
  ['ca_cert', 'x509ca'],
  ['local_cert', 'x509'],
] as const;

type Deps = InitScriptDeps & { root: DeviceRoot; store: UciStore };

export const createIpsecScript = (script: IpsecScript, deps: Deps): Program => {
  const name = nameOf(script);
  const plain = createInitScript(name, deps);
  if (name === 'ipsec') return plain;
  return (call) => {
    const stderr = call.params[0] === 'stop' ? '' : complaintsOf(deps);
    if (stderr === '') return plain(call);
    deps.services.acted({
      service: name,
      action: call.params[0] ?? '',
      by: call.by,
      ok: false,
      stderr,
    });
    return complained(1, stderr);
  };
};

const complaintsOf = ({ root, store }: Deps): string => {
  if (store.text('ipsec') === undefined) return '';
  const remotes = store.load('ipsec').package.sections.filter(({ type }) => type === 'remote');
  const files = remotes
    .filter(({ options }) => options.get('authentication_method') === 'pubkey')
    .flatMap(({ options }) =>
      FILES.flatMap(([option, folder]) => {
        const value = options.get(option);
        if (typeof value !== 'string') return [];
        if (value.includes('/')) return [`ERROR: ${option} ${value} can't be pathname\n`];
        const isThere = existsSync(root.path(`/etc/swanctl/${folder}/${value}`));
        return isThere ? [] : [`ERROR: ${option} ${value} not found\n`];
      }),
    )
    .join('');
  const hashes = store
    .load('ipsec')
    .package.sections.filter(({ type }) => type === 'crypto_proposal')
    .flatMap(({ options }) => {
      const cipher = String(options.get('encryption_algorithm'));
      const hash = options.get('hash_algorithm');
      const isAead = /^(aes.*(gcm|ccm|gmac)|chacha20poly1305$)/.test(cipher);
      return isAead && hash !== undefined
        ? [`ERROR: Can't have ${String(hash)} with ${cipher}\n`]
        : [];
    })
    .join('');
  return files + hashes === '' ? refusedByCharon(store) : files + hashes;
};

const refusedByCharon = (store: UciStore): string => {
  const { sections } = store.load('ipsec').package;
  const hasPrf = ({ options }: { options: ReadonlyMap<string, unknown> }): boolean =>
    options.has('prf_algorithm') ||
    (options.has('hash_algorithm') && !String(options.get('hash_algorithm')).endsWith('256_96'));
  const unusable = new Set(
    sections
      .filter(
        (one) => one.type === 'crypto_proposal' && !(one.options.has('dh_group') && hasPrf(one)),
      )
      .map(({ name }) => name),
  );
  return sections
    .filter(({ type, options }) => {
      const proposals = options.get('crypto_proposal') ?? [];
      return (
        type === 'remote' &&
        Array.isArray(proposals) &&
        proposals.some((name) => unusable.has(name))
      );
    })
    .map(
      ({ name }) =>
        `loading connection '${name}' failed: invalid value for: proposals, config discarded\n`,
    )
    .join('');
};
