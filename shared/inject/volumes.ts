/** The volumes that injection adds, and where the agent finds them: the same for env and mounts. */
import {
  NETWORKS_ANNOTATION,
  NETWORK_STATUS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PAUSED_ANNOTATION,
  REPORT_AUDIENCE,
} from '../names.ts';
import type { InjectOptions } from './options.ts';
import { own } from '../util/own.ts';
import { OWN_LOGIN_DIRECTORY } from './own-login-files.ts';
import type { Volume, VolumeMount } from './pod.ts';
import { STATE_DIRECTORY } from './state-directory.ts';

export const MOUNTS = {
  /** Token for the coordinator, its CA, the pod's networks, and whether it is paused. */
  identity: '/var/run/sdewan',
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
  /** From Secrets: a login on OpenWRT, and the CA of its certificate. */
  login: '/var/run/sdewan-login',
  ownLogin: OWN_LOGIN_DIRECTORY,
  state: STATE_DIRECTORY,
} as const;

const NAMES = {
  identity: 'sdewan-identity',
  serviceAccount: 'sdewan-service-account',
  login: 'sdewan-login',
  ownLogin: 'sdewan-own-login',
  state: 'sdewan-state',
} as const satisfies Record<keyof typeof MOUNTS, string>;

export const OWN_LOGIN_VOLUME = NAMES.ownLogin;

/** The usual life of a projected token; the kubelet renews it when 80 % of that is over. */
const TOKEN_SECONDS = 3_600;

/** Which of its volumes keep no pod from moving to another node. */
const EVICTABLE_ANNOTATION = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';

type Annotations = Readonly<Record<string, string>>;

/**
 * A pod with an emptyDir would keep the cluster's autoscaler from taking its node away. What is in
 * ours is made anew in each pod.
 */
export const withEvictable = (annotations: Annotations, options: VolumeOptions): Annotations => {
  const names = agentVolumes(options).flatMap(({ name, emptyDir }) => (emptyDir ? [name] : []));
  const others = own(annotations, EVICTABLE_ANNOTATION);
  return { ...annotations, [EVICTABLE_ANNOTATION]: [...(others ? [others] : []), ...names].join() };
};

export const withoutEvictable = (annotations: Annotations): Annotations => {
  const { [EVICTABLE_ANNOTATION]: names = '', ...rest } = annotations;
  const listed = names.split(',');
  const others = listed.filter((name) => !isAgentVolume(name.trim()));
  if (others.length === listed.length) return annotations;
  return others.length === 0 ? rest : { ...rest, [EVICTABLE_ANNOTATION]: others.join() };
};

export const isAgentVolume = (name: string): boolean =>
  (Object.values(NAMES) as string[]).includes(name);

type VolumeOptions = Pick<
  InjectOptions,
  'coordinatorCaConfigMap' | 'loginSecret' | 'openwrtCaSecret' | 'ownLogin'
>;

/** One per volume of `agentVolumes`. */
export const mountsOf = (options: VolumeOptions): VolumeMount[] => [
  { name: NAMES.identity, mountPath: MOUNTS.identity, readOnly: true },
  { name: NAMES.serviceAccount, mountPath: MOUNTS.serviceAccount, readOnly: true },
  ...(usesSecrets(options) ? [{ name: NAMES.login, mountPath: MOUNTS.login, readOnly: true }] : []),
  ...(options.ownLogin ? [{ name: NAMES.ownLogin, mountPath: MOUNTS.ownLogin }] : []),
  { name: NAMES.state, mountPath: MOUNTS.state },
];

export const agentVolumes = (options: VolumeOptions): Volume[] => [
  projected(NAMES.identity, [
    token(REPORT_AUDIENCE),
    {
      configMap: {
        // The pod must not wait for the coordinator; the agent reports as soon as the CA is there.
        optional: true,
        name: options.coordinatorCaConfigMap,
        items: [{ key: 'ca.crt', path: 'coordinator-ca.crt' }],
      },
    },
    downward('nfn-network', `metadata.annotations['${NFN_NETWORK_ANNOTATION}']`),
    downward('networks', `metadata.annotations['${NETWORKS_ANNOTATION}']`),
    downward('network-status', `metadata.annotations['${NETWORK_STATUS_ANNOTATION}']`),
    downward('paused', `metadata.annotations['${PAUSED_ANNOTATION}']`),
  ]),
  // A full one of our own, since pods may switch the automatic one off.
  projected(NAMES.serviceAccount, [
    token(),
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    downward('namespace', 'metadata.namespace'),
  ]),
  ...(usesSecrets(options) ? [projected(NAMES.login, loginSources(options))] : []),
  ...(options.ownLogin ? [{ name: NAMES.ownLogin, emptyDir: OWN_LOGIN_DIR }] : []),
  { name: NAMES.state, emptyDir: {} },
];

/** In memory, so that the password never lies on a disk. Four small files. */
const OWN_LOGIN_DIR = { medium: 'Memory', sizeLimit: '1Mi' };

const usesSecrets = ({ loginSecret, openwrtCaSecret }: VolumeOptions): boolean =>
  loginSecret !== undefined || openwrtCaSecret !== undefined;

const loginSources = ({ loginSecret, openwrtCaSecret }: VolumeOptions): object[] => [
  ...(loginSecret === undefined
    ? []
    : [
        fromSecret(loginSecret, 'password'),
        // ICN's Secrets have none: the login is root's.
        { secret: { ...fromSecret(loginSecret, 'username').secret, optional: true } },
      ]),
  ...(openwrtCaSecret === undefined ? [] : [fromSecret(openwrtCaSecret, 'ca.crt')]),
];

const fromSecret = (name: string, key: string): { secret: object } => ({
  secret: { name, items: [{ key, path: key }] },
});

const projected = (name: string, sources: object[]): Volume => ({ name, projected: { sources } });

const token = (audience?: string): object => ({
  serviceAccountToken: {
    ...(audience !== undefined && { audience }),
    expirationSeconds: TOKEN_SECONDS,
    path: 'token',
  },
});

const downward = (path: string, fieldPath: string): object => ({
  downwardAPI: { items: [{ path, fieldRef: { apiVersion: 'v1', fieldPath } }] },
});
