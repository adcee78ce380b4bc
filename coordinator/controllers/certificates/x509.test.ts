import { X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  createCa,
  inspect,
  issueServing,
  isSignedBy,
  isValidFor,
  splitBundle,
  type Pair,
} from './x509.ts';

const now = Date.now();
const DAY = 86_400_000;
const newCa = (): Promise<Pair> => createCa('test-ca', { issuedAt: now, lifetimeMs: 365 * DAY });

/** The error code of a handshake, or undefined when the client was content. */
const handshake = async (serving: Pair, ca: string, servername: string) => {
  const server = createServer({ cert: serving.cert, key: serving.key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await new Promise<string | undefined>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', ca, servername }, () => {
        socket.end();
        resolve(undefined);
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
  } finally {
    server.close();
  }
};

describe('certificates', () => {
  it('name no CA in what a CA signs', async () => {
    const { BasicConstraintsExtension, X509Certificate: Parsed } = await import('@peculiar/x509');
    const constraints = new Parsed((await newCa()).cert).getExtension(BasicConstraintsExtension);
    expect(constraints).toMatchObject({ ca: true, pathLength: 0 });
  });

  it('serve a TLS client that trusts the CA', async () => {
    const ca = await newCa();
    const serving = await issueServing(ca, ['coordinator.svc', '127.0.0.1'], {
      issuedAt: now,
      lifetimeMs: DAY,
    });
    expect(await handshake(serving, ca.cert, 'coordinator.svc')).toBeUndefined();
    expect(await handshake(serving, ca.cert, 'other.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await handshake(serving, (await newCa()).cert, 'coordinator.svc')).toBeDefined();
  });

  it('are distinguished in a bundle of two CAs of the same name', async () => {
    const [old, young] = await Promise.all([newCa(), newCa()]);
    const serving = await issueServing(old, ['a.svc'], { issuedAt: now, lifetimeMs: DAY });
    const bundle = `${young.cert}\n${old.cert}\n`;
    expect(splitBundle(bundle)).toHaveLength(2);
    expect(await handshake(serving, bundle, 'a.svc')).toBeUndefined();
    expect(isSignedBy(serving.cert, old.cert)).toBe(true);
    expect(isSignedBy(serving.cert, young.cert)).toBe(false);
  });

  it('know when they were made, when they end and for which names', async () => {
    const ca = await newCa();
    const second = Math.floor(now / 1_000) * 1_000;
    const serving = await issueServing(ca, ['a.svc', '10.0.0.1', 'fd00::1'], {
      issuedAt: second,
      lifetimeMs: DAY,
    });
    const facts = inspect(serving.cert);
    expect(facts.issuedAt).toBe(second);
    expect(facts.expiresAt).toBe(second + DAY);
    for (const name of ['a.svc', '10.0.0.1', 'fd00::1', 'FD00:0::1'])
      expect(isValidFor(serving.cert, name)).toBe(true);
    for (const name of ['b.svc', '10.0.0.2', 'fd00::2'])
      expect(isValidFor(serving.cert, name)).toBe(false);
  });

  it('never outlive their CA, and cannot sign others', async () => {
    const ca = await newCa();
    const serving = await issueServing(ca, ['a.svc'], { issuedAt: now, lifetimeMs: 999 * DAY });
    expect(inspect(serving.cert).expiresAt).toBe(inspect(ca.cert).expiresAt);
    expect(new X509Certificate(serving.cert).ca).toBe(false);
    expect(new X509Certificate(ca.cert).ca).toBe(true);
  });
});
