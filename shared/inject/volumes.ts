/** The volumes that injection adds, and where the agent finds them: one value per place, so env and mounts agree. */
import { NFN_NETWORK_ANNOTATION, REPORT_AUDIENCE } from '../names.ts';
import type { InjectOptions } from './options.ts';
import type { Volume, VolumeMount } from './pod.ts';
import { STATE_DIRECTORY } from './state-directory.ts';

export const MOUNTS = {
  /** Token for the coordinator, its CA, and the pod's networks. */
  identity: '/var/run/sdewan',
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
  login: '/var/run/sdewan-login',
  state: STATE_DIRECTORY,
} as const;

const NAMES = {
  identity: 'sdewan-identity',
  serviceAccount: 'sdewan-service-account',
  login: 'sdewan-login',
  state: 'sdewan-state',
} as const satisfies Record<keyof typeof MOUNTS, string>;

/** The usual life of a projected token; the kubelet renews it when 80 % of that is over. */
const TOKEN_SECONDS = 3_600;

export const isAgentVolume = (name: string): boolean =>
  (Object.values(NAMES) as string[]).includes(name);

export const mountsOf = (): VolumeMount[] => [
  { name: NAMES.identity, mountPath: MOUNTS.identity, readOnly: true },
  { name: NAMES.serviceAccount, mountPath: MOUNTS.serviceAccount, readOnly: true },
  { name: NAMES.login, mountPath: MOUNTS.login, readOnly: true },
  { name: NAMES.state, mountPath: MOUNTS.state },
];

export const agentVolumes = (
  options: Pick<InjectOptions, 'coordinatorCaConfigMap' | 'loginSecret'>,
): Volume[] => [
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
  ]),
  // A full one of our own, since pods may switch the automatic one off.
  projected(NAMES.serviceAccount, [
    token(),
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    downward('namespace', 'metadata.namespace'),
  ]),
  { name: NAMES.login, secret: { secretName: options.loginSecret } },
  { name: NAMES.state, emptyDir: {} },
];

const projected = (name: string, sources: object[]): Volume => ({ name, projected: { sources } });

const token = (audience?: string): object => ({
  serviceAccountToken: {
    ...(audience !== undefined && { audience }),
    expirationSeconds: TOKEN_SECONDS,
    path: 'token',
  },
});

const downward = (path: string, fieldPath: string): object => ({
  downwardAPI: { items: [{ path, fieldRef: { fieldPath } }] },
});
