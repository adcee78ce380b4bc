import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { Hono } from 'hono';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTcp, Server } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { serveApp, type RunningServer } from './server.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/log.ts';

let directory: string;
let certFile: string;
let keyFile: string;
let server: RunningServer | undefined;

const app = new Hono().get('/', (c) => c.text('hello'));
const base = { fetch: app.fetch, hostname: '127.0.0.1', port: 0, log: silentLogger };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'server-'));
  certFile = join(directory, 'tls.crt');
  keyFile = join(directory, 'tls.key');
});

afterEach(async () => {
  vi.restoreAllMocks();
  await server?.close();
  await rm(directory, { recursive: true });
});

const writePair = async (name: string): Promise<void> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = { serialNumber: '01', name: `CN=${name}`, keys, signingAlgorithm: algorithm };
  const certificate = await X509CertificateGenerator.createSelfSigned(made);
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
  await writeFile(certFile, certificate.toString('pem'));
  await writeFile(
    keyFile,
    `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`,
  );
};

const peerName = (port: number): Promise<string | string[] | undefined> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.once('error', reject);
  });

it('serves an app, and stops while a client keeps its connection', async () => {
  server = await serveApp(base);
  const url = `http://127.0.0.1:${server.port}/`;
  expect(await (await fetch(url)).text()).toBe('hello');
  await server.close(100);
  await server.close(100);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});

it('says for how long it keeps a connection, and closes it as soon as it stops', async () => {
  server = await serveApp(base);
  const { port } = server;
  const agent = new Agent({ keepAlive: true });
  const options = { agent, port, host: '127.0.0.1' };
  const [response] = await once(get(options), 'response');
  expect(response.headers['keep-alive']).toBe('timeout=20');
  const { socket } = response;
  response.resume();
  await once(response, 'end');
  const gone = once(socket, 'close');
  await server.close(60_000);
  await gone;
  agent.destroy();
});

it('keeps no connection whose request it answers while it stops', async () => {
  const asked = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  const slow = new Hono().get('/', async (c) => {
    asked.resolve();
    await answering.promise;
    return c.text('late');
  });
  server = await serveApp({ ...base, fetch: slow.fetch });
  const agent = new Agent({ keepAlive: true });
  const answer = once(get({ agent, port: server.port, host: '127.0.0.1' }), 'response');
  await asked.promise;
  const startedAt = performance.now();
  const closing = server.close(60_000);
  answering.resolve();
  const [response] = await answer;
  response.resume();
  await closing;
  // Less than a connection is kept.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  agent.destroy();
});

it('cuts a request that outlasts the grace period', async () => {
  const asked = Promise.withResolvers<void>();
  const slow = new Hono().get('/', async () => {
    asked.resolve();
    return new Promise<Response>(() => undefined);
  });
  server = await serveApp({ ...base, fetch: slow.fetch });
  const answer = fetch(`http://127.0.0.1:${server.port}/`).catch(() => 'cut');
  await asked.promise;
  await server.close(50);
  expect(await answer).toBe('cut');
});

it.each(['http', 'https'])(
  'has room over %s for some thousand connections, not for any number',
  async (way) => {
    await writePair('server');
    const listen = vi.spyOn(Server.prototype, 'listen');
    server = await serveApp({ ...base, ...(way === 'https' && { tls: { certFile, keyFile } }) });
    const [listening] = listen.mock.contexts;
    listen.mockRestore();
    expect(listening).toMatchObject({ maxConnections: 4_096 });
  },
);

it('rejects when the port is taken', async () => {
  server = await serveApp(base);
  await expect(serveApp({ ...base, port: server.port })).rejects.toThrow('EADDRINUSE');
});

it('takes up a new certificate without a restart, and keeps the old one when the new is broken', async () => {
  await writePair('first');
  const tls = { certFile, keyFile, pollIntervalMs: 20 };
  const warn = vi.fn<() => void>();
  server = await serveApp({
    ...base,
    tls,
    log: Object.assign(Object.create(silentLogger), { warn }),
  });
  const { port } = server;
  expect(await peerName(port)).toBe('first');
  await writeFile(certFile, 'not a certificate');
  await vi.waitUntil(() => warn.mock.calls.length > 0, { timeout: 60_000 });
  expect(await peerName(port)).toBe('first');
  await writePair('second');
  await vi.waitUntil(async () => (await peerName(port)) === 'second', { timeout: 60_000 });
});

it('renews its certificate though the file with the CAs of clients has become none', async () => {
  await writePair('first');
  const clientCaFile = join(directory, 'clients.pem');
  await copyFile(certFile, clientCaFile);
  const warn = vi.fn<() => void>();
  server = await serveApp({
    ...base,
    tls: { certFile, keyFile, pollIntervalMs: 20 },
    clientCaFile,
    log: Object.assign(Object.create(silentLogger), { warn }),
  });
  const { port } = server;
  await writeFile(clientCaFile, 'half a file');
  await vi.waitUntil(() => warn.mock.calls.length > 0, { timeout: 60_000 });
  await writePair('second');
  await vi.waitUntil(async () => (await peerName(port)) === 'second', { timeout: 60_000 });
  expect(await peerName(port)).toBe('second');
});

it('does not start with a certificate that cannot be used', async () => {
  await writeFile(certFile, 'x');
  await writeFile(keyFile, 'y');
  await expect(serveApp({ ...base, tls: { certFile, keyFile } })).rejects.toThrow('PEM');
});

/** An open connection and whether the server has closed it. */
const open = async (
  port: number,
  send = '',
  localAddress = '127.0.0.1',
): Promise<{ isOpen: () => boolean; end: () => void }> => {
  const socket = connectTcp({ host: '127.0.0.1', port, localAddress });
  let closed = false;
  socket.on('close', () => {
    closed = true;
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => {
    socket.once('connect', resolve);
  });
  if (send !== '') {
    socket.write(send);
    await new Promise((resolve) => {
      socket.once('data', resolve);
    });
  }
  return { isOpen: () => !closed, end: () => socket.destroy() };
};

/** One after the other. */
const openMany = async (port: number, count: number): Promise<Awaited<ReturnType<typeof open>>[]> =>
  count === 0 ? [] : [...(await openMany(port, count - 1)), await open(port)];

it('closes the oldest connections of unknown clients, and none of those that were answered', async () => {
  server = await serveApp(base);
  const { port } = server;
  const known = await open(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const strangers = await openMany(port, 400);
  await vi.waitFor(() =>
    expect(strangers.filter(({ isOpen }) => isOpen()).length).toBeLessThanOrEqual(256),
  );
  expect([known.isOpen(), strangers[0]?.isOpen(), strangers[399]?.isOpen()]).toEqual([
    true,
    false,
    true,
  ]);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello');
  for (const { end } of [known, ...strangers]) end();
});

it('closes those of the address that has most: another has the time that it needs', async () => {
  server = await serveApp(base);
  const { port } = server;
  const other = await open(port, '', '127.0.0.2');
  const strangers = await openMany(port, 400);
  await vi.waitFor(() => expect(strangers[100]?.isOpen()).toBe(false));
  expect([other.isOpen(), strangers[399]?.isOpen()]).toEqual([true, true]);
  for (const { end } of [other, ...strangers]) end();
});

it('closes what an address opens without pause, until one of its connections is answered', async () => {
  vi.spyOn(systemClock, 'monotonic').mockReturnValue(0);
  server = await serveApp(base);
  const { port } = server;
  const strangers = await Promise.all(Array.from({ length: 900 }, () => open(port)));
  const other = await open(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', '127.0.0.2');
  await vi.waitFor(() =>
    expect(strangers.slice(-100).filter(({ isOpen }) => isOpen())).toHaveLength(0),
  );
  const those = await Promise.all(Array.from({ length: 900 }, () => open(port, '', '127.0.0.2')));
  expect(those.at(-1)?.isOpen()).toBe(true);
  expect(other.isOpen()).toBe(true);
  for (const { end } of [other, ...strangers, ...those]) end();
});

it('knows no client by a request that is refused', async () => {
  server = await serveApp(base);
  const { port } = server;
  const refused = await open(port, 'GET /none HTTP/1.1\r\nHost: a\r\n\r\n');
  const strangers = await openMany(port, 300);
  await vi.waitFor(() => expect(refused.isOpen()).toBe(false));
  for (const { end } of strangers) end();
});

it('refuses headers that are longer than any of our clients sends', async () => {
  server = await serveApp(base);
  const answer = await fetch(`http://127.0.0.1:${server.port}/`, {
    headers: { authorization: 'x'.repeat(20_000) },
  });
  expect(answer.status).toBe(431);
});
