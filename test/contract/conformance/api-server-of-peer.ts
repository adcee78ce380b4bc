/**
 * An API server that only listens at the other end of a device's interface net1: connections to it
 * are made in the device's network.
 */
import { execFile } from 'node:child_process';
import type { Target } from '../../../agent/commit-confirm/reachability.ts';

export const API_SERVER = { host: '172.16.30.1', port: 7_999 };

export const LISTEN = `
import socket
s = socket.create_server(("0.0.0.0", ${API_SERVER.port}), backlog=16)
while True: s.accept()[0].close()
`;
const CONNECT = `timeout 1 nc ${API_SERVER.host} ${API_SERVER.port} </dev/null`;

/** Beside everything else. `inside`: starts a program on the device, given as its arguments. */
export const isReached = (inside: string, signal?: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const [program = '', ...args] = inside.split(' ');
    const options = { timeout: 5_000, ...(signal && { signal }) };
    execFile(program, [...args, 'sh', '-c', CONNECT], options, (error) => resolve(error === null));
  });

export const targetAt = (inside: string): Target => ({
  name: 'the API server',
  patienceMs: 3_000,
  connect: async (signal) => {
    if (!(await isReached(inside, signal))) throw new Error('no answer');
  },
});
