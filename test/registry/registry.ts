/**
 * A real registry: that of the distribution project, by its own packages, built once into the cache
 * beside the control plane. It speaks https on loopback, keeps images in memory, and knows one
 * login.
 */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';
import { exchange, type Answer } from '#shared/http/exchange.ts';
import { createCa, issueServing } from '../../coordinator/controllers/certificates/x509.ts';

const REGISTRY: GoProgram = {
  name: 'registry',
  sources: path.join(import.meta.dirname, 'program'),
  binary: 'registry',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 90,
};

export const [USER, PASSWORD] = ['pull', 'secret'];
/** What bcrypt makes of that password. */
const HASH = '$2a$04$YxpH8epkbwWyTHlHj1YAPe7KnEjmxSP.koe9EzT4JCnWdkSg3JT3e';

export type Registry = {
  /** As images name it. */
  host: string;
  /** PEM file with the CA of its certificate. */
  caFile: string;
  /** Docker's `config.json` with its login. */
  configFile: string;
  /** Makes the tag stand for an image that there was not before; the digest of it. */
  push: (name: string, tag: string) => Promise<string>;
  /** It is there no more, and its port refuses connections. */
  stop: () => Promise<void>;
};

/** To be called where a minute of waiting for its build is expected. */
export const startRegistry = async (): Promise<Registry> => {
  const program = await buildGoProgram(REGISTRY, { say: console.log });
  const folder = await mkdtemp(path.join(tmpdir(), 'registry-'));
  const host = `localhost:${await freePort()}`;
  const validity = { issuedAt: Date.now(), lifetimeMs: 3_600_000 };
  const ca = await createCa('a company', validity);
  const serving = await issueServing(ca, ['localhost'], validity);
  const write = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  const login = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
  const [caFile, configFile, certificate, key, htpasswd] = await Promise.all([
    write('ca.crt', ca.cert),
    write('config.json', JSON.stringify({ auths: { [host]: { auth: login } } })),
    write('tls.crt', serving.cert),
    write('tls.key', serving.key),
    write('htpasswd', `${USER}:${HASH}\n`),
  ]);
  const child = spawn(program, { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.end(
    JSON.stringify({
      version: '0.1',
      log: { level: 'error' },
      storage: { inmemory: {} },
      auth: { htpasswd: { realm: 'test', path: htpasswd } },
      http: { addr: host, tls: { certificate, key } },
    }),
  );
  const send = (
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    { type = 'application/octet-stream', body }: { type?: string; body?: string } = {},
  ): Promise<Answer> =>
    exchange({
      method,
      url: new URL(url, `https://${host}`),
      headers: { authorization: `Basic ${login}`, 'content-type': type },
      body,
      ca: ca.cert,
      maxBytes: 65_536,
      timeoutMs: 30_000,
    });
  while ((await send('GET', '/v2/').catch(() => undefined))?.status !== 200) await sleep(50);
  return {
    host,
    caFile,
    configFile,
    push: async (name, tag) => {
      const config = JSON.stringify({ made: randomUUID() });
      const digest = digestOf(config);
      const { headers } = await send('POST', `/v2/${name}/blobs/uploads/`);
      const upload = `${headers.location}&digest=${encodeURIComponent(digest)}`;
      await expectCreated(send('PUT', upload, { body: config }));
      const type = 'application/vnd.oci.image.manifest.v1+json';
      const of = 'application/vnd.oci.image.config.v1+json';
      const manifest = JSON.stringify({
        schemaVersion: 2,
        mediaType: type,
        config: { mediaType: of, digest, size: config.length },
        layers: [],
      });
      await expectCreated(send('PUT', `/v2/${name}/manifests/${tag}`, { type, body: manifest }));
      return digestOf(manifest);
    },
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await rm(folder, { recursive: true });
    },
  };
};

/** As the specification of OCI has it: of the bytes. */
const digestOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

const expectCreated = async (answer: Promise<Answer>): Promise<void> => {
  const { status, body } = await answer;
  if (status !== 201) throw new Error(`the registry answers ${status}: ${body.toString()}`);
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
};
