/**
 * How CNFs differ by the API that their OpenWRT speaks, by its firewall, and by the login that the
 * agent is given.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cnf } from './cnf.ts';

/**
 * What is added to the pod template of the seed's CNF; `env` is of the simulator that stands for
 * its image.
 */
export type Variant = {
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string>>;
  volumeMounts: readonly object[];
  volumes: readonly object[];
};

const AGENT = 'sdewan.akraino.org/agent';
/** ICN's Secret for root's login. */
const ACCOUNT = 'cnf-account';
const ROOT_PASSWORD = 'root-for-tests-only';
/** Secret and ConfigMap of the login with few rights. */
const STAGED = 'cnf-staged-login';
const STAGED_LOGIN = { username: 'config-writer', password: 'staged-for-tests-only' };
const ACL_FILE = 'sdewan-agent.json';
/** ConfigMap of the init script of a firewall that is one of iptables. */
const FW3 = 'cnf-fw3';
const FW3_FILE = 'firewall';
const FW3_SCRIPT = '#!/bin/sh /etc/rc.common\nreload() { fw3 reload; }\n';

export const variantOf = ({ driver, firewall, login, reloadMs }: Cnf): Variant => {
  const isStaged = login === 'staged';
  const mounted = [
    ...(isStaged ? [[STAGED, `/usr/share/rpcd/acl.d/${ACL_FILE}`, ACL_FILE] as const] : []),
    ...(firewall ? [[FW3, `/etc/init.d/${FW3_FILE}`, FW3_FILE] as const] : []),
  ];
  return {
    labels: driver === 'icn' ? { 'cnf-account-secret': ACCOUNT } : {},
    annotations: {
      ...(driver && { [`${AGENT}-driver`]: driver }),
      ...(isStaged && { [`${AGENT}-own-login`]: 'false', [`${AGENT}-login-secret`]: STAGED }),
    },
    env: {
      ...(reloadMs !== undefined && { SIMULATOR_RELOAD_MS: String(reloadMs) }),
      ...(driver && { SIMULATOR_APIS: driver, SIMULATOR_ROOT_PASSWORD: ROOT_PASSWORD }),
      ...(isStaged && {
        SIMULATOR_AGENT_USERNAME: STAGED_LOGIN.username,
        SIMULATOR_AGENT_PASSWORD: STAGED_LOGIN.password,
        // No other login reloads services then.
        SIMULATOR_PROCD_RELOADS: 'true',
      }),
    },
    volumeMounts: mounted.map(([name, mountPath, subPath]) => ({ name, mountPath, subPath })),
    volumes: mounted.map(([name]) => ({ name, configMap: { name } })),
  };
};

/** The second of the ACL files that the docs print. */
const stagedRights = (): string => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/drivers.md'), 'utf8');
  const [, text] = [...docs.matchAll(/```json\n([\s\S]*?)```/g)].map((match) => match[1]);
  if (text === undefined) throw new Error('docs/drivers.md prints no rights for the staged way');
  return text;
};

const secret = (name: string, stringData: object): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});

const configMap = (name: string, data: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** What a namespace needs for CNFs of any variant. */
export const loginPrerequisites: readonly object[] = [
  secret(ACCOUNT, { password: ROOT_PASSWORD }),
  secret(STAGED, STAGED_LOGIN),
  configMap(STAGED, { [ACL_FILE]: stagedRights() }),
  configMap(FW3, { [FW3_FILE]: FW3_SCRIPT }),
];
