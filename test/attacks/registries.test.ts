/**
 * A tenant names images, and so what the coordinator asks of which registry; and a registry that is
 * asked is hostile: it sends elsewhere, never ends, or lies.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCa, issueServing } from '../../coordinator/controllers/certificates/x509.ts';
import {
  createRegistry,
  MAX_LOOK_UPS,
  MAX_REGISTRY_BYTES,
} from '../../coordinator/controllers/fleet/updates/registry.ts';
import { eventually } from '../integration/support/eventually.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
/** The registry, and a server that nothing may be sent to. */
const [OWN, OTHER] = ['registry.test', 'other.test'];
/** Addresses of one server: only the first is in a network that is named. */
const [NAMED, INTERNAL] = ['127.0.0.2', '127.0.0.1'];

let folder: string;
let server: Server;
let port: number;
/** What `registry.test` answers. */
let answer: RequestListener;
/** What each has been asked, and with which login. */
let asked: { host: string | undefined; url: string | undefined; login: string | undefined }[];
let addresses: Map<string, string[]>;
let files: { caFile: string; configFile: string };

let caCertificate: string;
let serving: { cert: string; key: string };
beforeAll(async () => {
  const validity = { issuedAt: Date.now(), lifetimeMs: 3_600_000 };
  const ca = await createCa('a company', validity);
  caCertificate = ca.cert;
  serving = await issueServing(ca, [OWN, OTHER, 'auth.other.test', INTERNAL], validity);
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'registries-'));
  asked = [];
  answer = (_, response) => response.setHeader('docker-content-digest', DIGEST).end();
  const listener: RequestListener = (request, response) => {
    const { headers, url } = request;
    asked.push({ host: headers.host?.split(':')[0], url, login: headers.authorization });
    answer(request, response);
  };
  server = createServer(serving, listener).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const at = server.address();
  port = typeof at === 'object' && at ? at.port : 0;
  addresses = new Map([OWN, OTHER, 'auth.other.test'].map((name) => [name, [NAMED]]));
  files = { caFile: path.join(folder, 'ca.crt'), configFile: path.join(folder, 'config.json') };
  const auths = {
    [`${OWN}:${port}`]: { username: 'own', password: 'secret' },
    [`second.test:${port}`]: { username: 'second', password: 'other-secret' },
  };
  await writeFile(files.caFile, caCertificate);
  await writeFile(files.configFile, JSON.stringify({ auths }));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

const lookup: LookupFunction = (name, _, callback) => {
  const found = addresses.get(name) ?? [];
  callback(
    null,
    found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};
const create = (hosts: readonly string[] = []) => {
  const digestOf = createRegistry({ ...files, hosts, networks: [`${NAMED}/32`], lookup });
  return (image: string, namespace = 'edge'): Promise<string> =>
    digestOf(image, { namespace, signal: new AbortController().signal });
};
const own = (name = 'cnf:1'): string => `${OWN}:${port}/${name}`;
const login = (user: string): string => `Basic ${Buffer.from(user).toString('base64')}`;
const isFirst = ({ headers }: IncomingMessage): boolean => headers.authorization === undefined;

describe('a tenant', () => {
  it('has nothing asked of a host, or a port, that is not named', async () => {
    const digestOf = create();
    for (const host of [OTHER, `${OTHER}:${port}`, OWN, `${OWN}:6443`, `${NAMED}:${port}`])
      await expect(digestOf(`${host}/cnf:1`)).rejects.toThrow('is not in SDEWAN_REGISTRIES');
    await expect(digestOf(`${OWN}:${port}@evil.test/cnf:1`)).rejects.toThrow('no name of an image');
    await expect(digestOf(own('../../../api/v1/secrets:1'))).rejects.toThrow('no name of an image');
    expect(asked).toEqual([]);
  });

  it('keeps others waiting for no more than one look-up, and fills no queue but its own', async () => {
    const held: (() => void)[] = [];
    answer = (_, response) =>
      void held.push(() => response.setHeader('docker-content-digest', DIGEST).end());
    const digestOf = create();
    const many = Array.from({ length: MAX_LOOK_UPS + 1 }, (_, at) => digestOf(own(`cnf:${at}`)));
    const tooMany = digestOf(own('cnf:more'));
    const others = digestOf(own('other:1'), 'branch');
    await expect(tooMany).rejects.toThrow('too many look-ups wait');
    for (let at = 0; at < MAX_LOOK_UPS + 2; at += 1) {
      await eventually(() => held.length).toBe(1);
      expect(asked).toHaveLength(at + 1);
      held.shift()?.();
    }
    await Promise.all([...many, others]);
    const order = asked.map(({ url }) => url);
    expect(order.indexOf('/v2/other/manifests/1')).toBeLessThan(3);
  });
});

describe('a registry with an address that is not of the Internet', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.31.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'ff02::1',
    '2002:7f00:1::',
    '2001:db8::1',
  ])('is not asked: %s', async (address) => {
    addresses.set(OWN, [address]);
    await expect(create()(own())).rejects.toThrow('not of the Internet');
    expect(asked).toEqual([]);
  });

  it('is not asked by its address either, though it is named', async () => {
    const digestOf = create([`${INTERNAL}:${port}`, `[::1]:${port}`]);
    for (const host of [INTERNAL, '[::1]'])
      await expect(digestOf(`${host}:${port}/cnf:1`)).rejects.toThrow('not of the Internet');
    expect(asked).toEqual([]);
  });

  it('is asked at another one that is in a named network', async () => {
    addresses.set(OWN, [INTERNAL, NAMED]);
    let at: string | undefined;
    answer = ({ socket }, response) => {
      at = socket.localAddress;
      response.setHeader('docker-content-digest', DIGEST).end();
    };
    expect(await create()(own())).toBe(DIGEST);
    expect(at).toBe(NAMED);
  });

  it('is not asked again when its name leads there a moment later', async () => {
    answer = (_, response) => {
      addresses.set(OWN, [INTERNAL]);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
    };
    await expect(create()(own())).rejects.toThrow('not of the Internet');
    expect(asked).toHaveLength(1);
  });
});

describe('a login', () => {
  const bearer = (realm: string) =>
    ((request, response) => {
      if (request.url?.startsWith('/token')) return response.end('{"token":"t"}');
      if (isFirst(request))
        return response
          .writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="s"` })
          .end();
      return response.setHeader('docker-content-digest', DIGEST).end();
    }) satisfies RequestListener;

  it('goes to its registry alone, and only where that asks for it', async () => {
    answer = bearer(`https://${OWN}:${port}/token`);
    expect(await create()(own())).toBe(DIGEST);
    expect(asked).toEqual([
      { host: OWN, url: '/v2/cnf/manifests/1', login: undefined },
      {
        host: OWN,
        url: '/token?service=s&scope=repository%3Acnf%3Apull',
        login: login('own:secret'),
      },
      { host: OWN, url: '/v2/cnf/manifests/1', login: 'Bearer t' },
    ]);
  });

  it('goes to a server for tokens that an operator has named', async () => {
    answer = bearer(`https://${OTHER}:${port}/token`);
    expect(await create([`${OTHER}:${port}`])(own())).toBe(DIGEST);
  });

  it.each([
    () => `https://${OTHER}:${port}/token`,
    () => `https://auth.${OTHER}:${port}/token`,
    () => `https://${OWN}.evil.test/token`,
    () => `https://${OWN}/token`,
    () => `http://${OWN}:${port}/token`,
    () => `https://x:y@${OWN}:${port}/token`,
    () => `https://${INTERNAL}:${port}/token`,
    () => `https://${OWN}:${port}@${OTHER}:${port}/token`,
    () => 'file:///var/run/secrets/kubernetes.io/serviceaccount/token',
    () => '',
  ])('goes to no other realm: %s', async (realm) => {
    answer = bearer(realm());
    await expect(create()(own())).rejects.toThrow('sends for a token to a server');
    expect(asked).toHaveLength(1);
  });

  it('is told of in no error', async () => {
    answer = (_, response) => response.writeHead(403).end('own:secret and words of an attacker');
    const error: unknown = await create()(own()).catch((thrown: unknown) => thrown);
    expect(String(error)).toBe(`RegistryError: ${OWN}:${port} answers with status 403`);
  });
});

describe('an answer', () => {
  it.each([301, 302, 303, 307, 308])('leads nowhere else: %i', async (status) => {
    answer = (_, response) =>
      response.writeHead(status, { location: `https://${OTHER}:${port}/` }).end();
    await expect(create()(own())).rejects.toThrow(`answers with status ${status}`);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['none', undefined],
    ['one of another kind', `md5:${'a'.repeat(32)}`],
    ['one that is too long', `${DIGEST}a`],
    ['one with more behind it', `${DIGEST} @evil.test/image`],
    ['several', [DIGEST, DIGEST]],
  ])('has one digest of its form: not %s', async (_, digest) => {
    answer = (_, response) => {
      if (digest !== undefined) response.setHeader('docker-content-digest', digest);
      response.end();
    };
    await expect(create()(own())).rejects.toThrow('answers without a digest');
  });

  it('ends soon: no more of a token is read than there is room for', async () => {
    let sent = 0;
    answer = (request, response) => {
      if (!request.url?.startsWith('/token')) {
        const challenge = `Bearer realm="https://${OWN}:${port}/token"`;
        response.writeHead(401, { 'www-authenticate': challenge }).end();
        return;
      }
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384))) sent += 16_384;
      };
      response.on('drain', more);
      more();
    };
    await expect(create()(own())).rejects.toThrow('no whole answer');
    expect(sent).toBeLessThan(MAX_REGISTRY_BYTES * 200);
  });

  it('ends soon: headers without end', async () => {
    answer = ({ socket }) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write(`x-more: ${'x'.repeat(1_000)}\r\n`));
      };
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.on('drain', more);
      more();
    };
    await expect(create()(own())).rejects.toThrow('HPE_HEADER_OVERFLOW');
  });

  it('comes within five seconds, with all that leads to it', async () => {
    const begun = performance.now();
    answer = () => undefined;
    await expect(create()(own())).rejects.toThrow('no answer in 5 s');
    expect(performance.now() - begun).toBeLessThan(10_000);
  });
});
