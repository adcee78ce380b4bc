/** One attempt of a probe or of a lifecycle hook, against a process of this machine. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Handler, HttpGetAction } from '../kube/objects.ts';
import { run } from '../run.ts';

export type ProbeTarget = {
  podIP: string;
  /** The port of this machine that stands for a port of the container, given by number or name. */
  port: (port: number | string) => number;
  /** Environment and folder of the container's process. */
  env: Readonly<Record<string, string>>;
  workingDirectory: string;
  /** Rewrites paths of the container into paths of this machine. */
  localPath: (text: string) => string;
};

export type ProbeResult = { ok: true } | { ok: false; message: string };

/** Never rejects: whatever goes wrong is a failed attempt. */
export const attempt = async (
  handler: Handler,
  target: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeResult> => {
  try {
    if (handler.exec) return await attemptExec(handler.exec.command, target, timeoutMs);
    if (handler.httpGet) return await attemptHttp(handler.httpGet, target, timeoutMs);
    if (handler.tcpSocket) {
      const { host = target.podIP, port } = handler.tcpSocket;
      await connectTo(host, target.port(port), timeoutMs);
    }
    if (handler.sleep) await sleep(handler.sleep.seconds * 1000);
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
};

const attemptExec = async (
  command: readonly string[],
  { env, workingDirectory, localPath }: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeResult> => {
  const result = await run(command.map(localPath), {
    env: { ...env },
    cwd: workingDirectory,
    timeoutMs,
  });
  const output = `${result.stdout}${result.stderr}`.trim();
  return result.code === 0 ? { ok: true } : { ok: false, message: output };
};

const attemptHttp = async (
  action: HttpGetAction,
  target: ProbeTarget,
  timeoutMs: number,
): Promise<ProbeResult> => {
  const options = {
    host: action.host ?? target.podIP,
    port: target.port(action.port),
    path: action.path ?? '/',
    headers: {
      'user-agent': 'kube-probe/1.36',
      ...Object.fromEntries((action.httpHeaders ?? []).map(({ name, value }) => [name, value])),
    },
    signal: AbortSignal.timeout(timeoutMs),
    rejectUnauthorized: false, // as kubelets do: a probe asks for health, not for identity
    agent: false,
  };
  const request = action.scheme === 'HTTPS' ? httpsRequest : httpRequest;
  const status = await new Promise<number>((resolve, reject) => {
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
  return status >= 200 && status < 400
    ? { ok: true }
    : { ok: false, message: `HTTP probe failed with statuscode: ${status}` };
};

const connectTo = async (host: string, port: number, timeout: number): Promise<void> => {
  const socket = connect({ host, port, timeout });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
      socket.once('timeout', () => reject(new Error(`dial tcp ${host}:${port}: i/o timeout`)));
    });
  } finally {
    socket.destroy();
  }
};
