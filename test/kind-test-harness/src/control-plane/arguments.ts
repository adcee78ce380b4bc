/**
 * The command line of each program of the control plane. Every flag beyond the plainly needed has
 * its reason here.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';

import type { Credentials } from './credentials.ts';
import type { ProgramName } from './programs.ts';

export type Addresses = { host: string; etcd: number; peer: number; api: number };

export type ArgumentsInput = {
  directory: string;
  addresses: Addresses;
  credentials: Credentials;
};

/** The harness's own arguments; none for a program that isn't part of the control plane. */
export const controlPlaneArguments = (
  program: ProgramName,
  input: ArgumentsInput,
): readonly string[] => ARGUMENTS[program]?.(input) ?? [];

/**
 * Loopback addresses, so that the process kubelet can listen on ClusterIPs and the API server
 * reaches webhooks by them (accepted by kube-apiserver 1.36, measured). Above those of pods; chosen
 * at random for clusters that run at the same time.
 */
const SERVICE_RANGE = `127.${randomInt(240, 255)}.0.0/16`;
/** For Services that ask for both families; nothing listens on these, so clusters can share it. */
const SERVICE_RANGE_V6 = 'fd00:10:96::/112';

const etcdUrl = ({ addresses }: ArgumentsInput): string => `http://127.0.0.1:${addresses.etcd}`;

const ARGUMENTS: Partial<Record<ProgramName, (input: ArgumentsInput) => readonly string[]>> = {
  etcd: (input) => {
    const peer = `http://127.0.0.1:${input.addresses.peer}`;
    return [
      `--data-dir=${join(input.directory, 'etcd')}`,
      `--listen-client-urls=${etcdUrl(input)}`,
      `--advertise-client-urls=${etcdUrl(input)}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync', // the data lives as long as the process
    ];
  },
  'kube-apiserver': (input) => [
    `--etcd-servers=${etcdUrl(input)}`,
    `--bind-address=${input.addresses.host}`,
    `--advertise-address=${input.addresses.host}`,
    `--secure-port=${input.addresses.api}`,
    `--cert-dir=${input.credentials.certificateDirectory}`,
    // Its one pair is also how it proves itself to the process kubelet, for `kubectl logs`.
    `--kubelet-client-certificate=${input.credentials.servingCertificate}`,
    `--kubelet-client-key=${input.credentials.servingKey}`,
    '--kubelet-preferred-address-types=InternalIP', // the node's name is not resolved
    `--token-auth-file=${input.credentials.tokenFile}`,
    `--service-account-key-file=${input.credentials.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${input.credentials.serviceAccountKey}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--authorization-mode=RBAC',
    '--allow-privileged=true', // CNFs ask for it
    `--service-cluster-ip-range=${SERVICE_RANGE},${SERVICE_RANGE_V6}`,
  ],
  'kube-controller-manager': ({ credentials }) => [
    `--kubeconfig=${credentials.kubeconfig}`,
    `--service-account-private-key-file=${credentials.serviceAccountKey}`,
    `--root-ca-file=${credentials.servingCertificate}`,
    '--use-service-account-credentials',
    '--leader-elect=false',
    '--secure-port=0', // nothing scrapes it, and two clusters must not clash
    ...FAST_CLIENT,
  ],
  'kube-scheduler': ({ credentials }) => [
    `--kubeconfig=${credentials.kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    ...FAST_CLIENT,
  ],
};

/**
 * With the default of 20 a second, a fresh namespace gets its ServiceAccount seconds late
 * (measured: 4 s).
 */
const FAST_CLIENT = ['--kube-api-qps=1000', '--kube-api-burst=1000'];
