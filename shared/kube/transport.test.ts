/**
 * Against a server of HTTP/2 whose first session is troubled: what is asked next is answered, and
 * what goes on there already goes on.
 */
import 'reflect-metadata';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTransport, type Transport } from './transport.ts';

/** What becomes of a request in the first session that is no watch. */
let trouble: 'refused' | 'silent';
let server: Http2SecureServer;
let transport: Transport;
const sessions: ServerHttp2Session[] = [];

const certificateOf = async (): Promise<{ cert: string; key: string }> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: 'CN=localhost',
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: made.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
};

beforeEach(async () => {
  sessions.length = 0;
  const { cert, key } = await certificateOf();
  server = createSecureServer({ cert, key });
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined);
    const isFirst = stream.session === sessions[0];
    if (headers[':path'] === '/watch') {
      stream.respond({ ':status': 200 });
      stream.write('begun');
    } else if (!isFirst) {
      stream.respond({ ':status': 200 });
      stream.end('answered');
    } else if (trouble === 'refused') stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  transport = createTransport({
    config: {
      server: `https://localhost:${port}`,
      namespace: undefined,
      tls: async () => ({ ca: cert }),
      headers: async () => ({}),
      expire: () => undefined,
    },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await transport.close();
  for (const session of sessions) session.destroy();
  server.close();
});

const get = (path: string, signal?: AbortSignal) =>
  transport.request({ path, method: 'GET', ...(signal && { signal }) });
const answerTo = async (path: string): Promise<string> => (await get(path)).body.text();

it('asks on a new session after one that refuses streams, on which watches go on', async () => {
  trouble = 'refused';
  const { body } = await get('/watch');
  const said = body[Symbol.asyncIterator]();
  expect(String((await said.next()).value)).toBe('begun');
  await expect(get('/version')).rejects.toThrow('ENHANCE_YOUR_CALM');
  await expect(answerTo('/version')).resolves.toBe('answered');
  expect(sessions).toHaveLength(2);
  expect(sessions[0]?.destroyed).toBe(false);
  body.on('error', () => undefined).destroy();
});

it('asks on a new session after one that has answered nothing for ten seconds, and not before', async () => {
  trouble = 'silent';
  let passedMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  const unanswered = () => get('/version', AbortSignal.timeout(50)).then(() => 'answered', String);
  expect(await unanswered()).toContain('TimeoutError');
  expect(await unanswered()).toContain('TimeoutError');
  expect(transport.unansweredSince()).toBeDefined();
  passedMs = 10_000;
  expect(await unanswered()).toContain('TimeoutError');
  await expect(answerTo('/version')).resolves.toBe('answered');
  expect(transport.unansweredSince()).toBeUndefined();
});
