/**
 * How long an agent that starts takes until it first connects to its OpenWRT: `node test/bench/first-byte.ts [starts]`. The bundled program with the
 * flags of its image; API server and OpenWRT are ports that close each connection.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { bundle } from '../../deploy/images/bundle.ts';
import { agentFlags } from '../stack/agent-flags.ts';

const STARTS = Number(process.argv[2] ?? 12);
const folder = mkdtempSync(join(tmpdir(), 'sdewan-bench-'));
const program = join(folder, 'bundle');

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const listen = async (onConnection: () => void): Promise<Server> => {
  const server = createServer((socket) => {
    onConnection();
    socket.on('error', () => undefined).destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};
const portOf = (server: Server): number =>
  z.object({ port: z.number() }).parse(server.address()).port;

const kubeconfigFor = (port: number): string => {
  const cluster = { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'none' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
};

const startOnce = async (): Promise<number> => {
  const connected = Promise.withResolvers<void>();
  const openwrt = await listen(() => connected.resolve());
  const apiServer = await listen(() => undefined);
  const env = {
    KUBECONFIG: file('kubeconfig', kubeconfigFor(portOf(apiServer))),
    SDEWAN_PURPOSE: 'bench',
    SDEWAN_NAMESPACE: 'bench',
    SDEWAN_POD_NAME: 'bench-0',
    SDEWAN_POD_UID: 'bench-0',
    SDEWAN_OPENWRT_URL: `http://127.0.0.1:${portOf(openwrt)}/ubus`,
    SDEWAN_OPENWRT_USERNAME_FILE: file('username', 'sdewan'),
    SDEWAN_OPENWRT_PASSWORD_FILE: file('password', 'none'),
    SDEWAN_COORDINATOR_URL: 'https://127.0.0.1:1',
    SDEWAN_COORDINATOR_TOKEN_FILE: file('token', 'none'),
    SDEWAN_STATE_DIR: folder,
  };
  const begin = performance.now();
  const agent = spawn(process.execPath, [...agentFlags(), join(program, 'main.mjs')], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(agent, 'exit');
  const isEarly = await Promise.race([connected.promise, ended.then(() => 'ended')]);
  const took = performance.now() - begin;
  agent.kill('SIGKILL');
  await ended;
  openwrt.close();
  apiServer.close();
  if (isEarly === 'ended') throw new Error('the agent ended before it connected to OpenWRT');
  return took;
};

try {
  await bundle('agent/main.ts', program);
  const took: number[] = [];
  for (let at = 0; at < STARTS; at += 1) took.push(await startOnce());
  const [least, median, most] = [0, 0.5, 0.99].map((share) =>
    took.toSorted((a, b) => a - b)[Math.floor(share * took.length)]?.toFixed(0),
  );
  console.log(
    `to the first connection: least ${least}, median ${median}, most ${most} ms; load ${loadavg()[0]?.toFixed(1)}`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
