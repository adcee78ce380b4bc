/** Whether a daemon answers. */
import { connect } from 'node:net';
import { request } from 'undici';

import { CONTAINERD_SOCKET, KUBELET_HEALTH_PORT } from './files.ts';
import type { Subnets } from './subnets.ts';

const TIMEOUT_MS = 2000;

/** containerd opens its socket when all of its plugins are up. */
export const containerdAnswers = async (initPid: number): Promise<boolean> =>
  await new Promise((resolve) => {
    const socket = connect(`/proc/${initPid}/root${CONTAINERD_SOCKET}`);
    const answer = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => answer(true)).once('error', () => answer(false));
    socket.setTimeout(TIMEOUT_MS, () => answer(false));
  });

export const kubeletAnswers = async ({ nodeAddress }: Subnets): Promise<boolean> => {
  try {
    const response = await request(`http://${nodeAddress}:${KUBELET_HEALTH_PORT}/healthz`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return (await response.body.text()) === 'ok';
  } catch {
    return false;
  }
};
