import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { baseOf, digestOf, pinned, publishedBaseOf, type Registry } from './pin.ts';

const dockerfile = 'ARG BASE=docker.io/library/node:26-slim\nFROM ${BASE} AS bundle\n';
const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;

it('a digest stands behind the tag, and is replaced by the next one', () => {
  expect(baseOf(dockerfile)).toEqual({ repository: 'library/node', tag: '26-slim' });
  const once = pinned(dockerfile, digest('a'));
  expect(once).toContain(`ARG BASE=docker.io/library/node:26-slim@${digest('a')}\n`);
  expect(publishedBaseOf(once)).toBe(`docker.io/library/node:26-slim@${digest('a')}`);
  expect(pinned(once, digest('b'))).toBe(once.replace(digest('a'), digest('b')));
});

it('what is no digest is not written', () => {
  expect(() => pinned(dockerfile, 'sha256:abc')).toThrow('is no digest');
  expect(() => pinned('FROM scratch\n', digest('a'))).toThrow('no line ARG BASE');
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** What the client sees of a registry on this machine. */
const asked = async (answer: Answer): Promise<string> => {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const url = `http://127.0.0.1:${port}`;
  const registry: Registry = { auth: `${url}/token?service=hub`, manifests: `${url}/v2` };
  try {
    return await digestOf(baseOf(dockerfile), registry);
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

const TOKEN_PATH = '/token?service=hub&scope=repository:library/node:pull';
/** As Docker Hub: a token for the repository first, then the digest of the index that the tag names. */
const hub =
  (headers: Record<string, string>, status = 200): Answer =>
  ({ method, url, headers: { authorization, accept } }, response) => {
    if (url === TOKEN_PATH) return void response.end(JSON.stringify({ token: 'a-token' }));
    const isRight =
      method === 'HEAD' &&
      url === '/v2/library/node/manifests/26-slim' &&
      authorization === 'Bearer a-token' &&
      accept?.includes('application/vnd.oci.image.index.v1+json') === true;
    return void response.writeHead(isRight ? status : 400, isRight ? headers : {}).end();
  };

it('a registry is asked for the index behind the tag', async () => {
  await expect(asked(hub({ 'docker-content-digest': digest('c') }))).resolves.toBe(digest('c'));
});

it.each<[string, Answer, string]>([
  ['has no such tag', hub({}, 404), 'answers 404'],
  ['says no digest', hub({}), 'answers 200'],
  ['gives no token', (_, response) => void response.writeHead(429).end(), 'answers 429'],
])('a registry that %s pins nothing', async (_, answer, words) => {
  await expect(asked(answer)).rejects.toThrow(words);
});
