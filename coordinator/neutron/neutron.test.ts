/** The client against an OpenStack in this process: tokens, pages, refusals, no answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { readCloud } from './cloud.ts';
import { NeutronError } from './errors.ts';
import { createNeutron, type Neutron } from './neutron.ts';

type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: unknown;
};
type Answer = { status: number; body?: unknown } | 'nothing';

let server: Server;
let folder: string;
let clock: ManualClock;
let neutron: Neutron;
let asked: Asked[];
let counted: string[];
let tokens: number;
let lifeSeconds: number;
let isGood: (token: string) => boolean;
let answer: (call: Asked) => Answer;

const address = (): string => {
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('not listening');
  return `http://127.0.0.1:${at.port}`;
};

const serve = (request: IncomingMessage, response: ServerResponse, text: string): void => {
  const url = new URL(request.url ?? '', address());
  const call: Asked = {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
  asked.push(call);
  const send = (status: number, body: unknown, headers = {}): void =>
    void response.writeHead(status, headers).end(body === undefined ? '' : JSON.stringify(body));
  if (call.path === '/v3/auth/tokens') {
    tokens += 1;
    const expires = new Date(clock.now() + 1_000 * lifeSeconds).toISOString();
    const endpoints = [
      { interface: 'internal', region_id: 'one', url: 'http://192.0.2.1' },
      { interface: 'public', region_id: 'two', url: 'http://192.0.2.2' },
      { interface: 'public', region_id: 'one', url: `${address()}/network/` },
    ];
    const token = {
      expires_at: expires,
      project: { id: 'project' },
      catalog: [{ type: 'network', endpoints }],
    };
    return send(201, { token }, { 'x-subject-token': `token-${tokens}` });
  }
  if (!isGood(String(request.headers['x-auth-token']))) return send(401, {});
  const is = answer(call);
  if (is === 'nothing') return void request.socket.destroy();
  send(is.status, is.body);
};

const cloud = (auth: object = {}) => ({
  clouds: {
    edge: {
      auth: {
        auth_url: `${address()}/v3/`,
        username: 'sdewan',
        password: 'secret',
        project_name: 'edge',
        ...auth,
      },
      region_name: 'one',
    },
  },
});

beforeEach(async () => {
  asked = [];
  counted = [];
  tokens = 0;
  lifeSeconds = 3_600;
  isGood = () => true;
  answer = () => ({ status: 200, body: { ports: [], security_groups: [] } });
  clock = createManualClock();
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => serve(request, response, text));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'cloud-'));
  const path = join(folder, 'clouds.yaml');
  await writeFile(path, JSON.stringify(cloud()));
  const count = (method: string, result: string): void => void counted.push(`${method} ${result}`);
  neutron = createNeutron({ cloud: { path }, clock, count });
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

const port = (id: string) => ({ id, name: id, revision_number: 3, security_groups: ['g'] });
const refused = async (call: Promise<unknown>): Promise<NeutronError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof NeutronError) return error;
  throw new Error(`no NeutronError: ${String(error)}`);
};

describe('a token', () => {
  it('is asked for once, however many wait, and bears the project', async () => {
    await Promise.all([neutron.groups(), neutron.ports(), neutron.groups()]);
    expect(tokens).toBe(1);
    expect(asked[0]?.body).toEqual({
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { name: 'sdewan', domain: { name: 'Default' }, password: 'secret' } },
        },
        scope: { project: { name: 'edge', domain: { name: 'Default' } } },
      },
    });
    expect(asked[1]?.path).toMatch(/^\/network\/v2\.0\//);
    expect(asked[1]?.query.get('project_id')).toBe('project');
    expect(asked[1]?.headers['x-auth-token']).toBe('token-1');
  });

  it.each([
    [3_600, 3_539, 3_541],
    [20, 9, 11],
  ])('is renewed before it ends: %i s', async (life, before, after) => {
    lifeSeconds = life;
    await neutron.groups();
    clock.advance(before * 1_000);
    await neutron.groups();
    expect(tokens).toBe(1);
    clock.advance((after - before) * 1_000);
    await neutron.groups();
    expect(tokens).toBe(2);
  });

  it('is replaced once when it is not taken any more', async () => {
    await neutron.groups();
    isGood = (token) => token !== 'token-1';
    await neutron.groups();
    expect(tokens).toBe(2);
    isGood = () => false;
    expect(await refused(neutron.groups())).toMatchObject({ status: 401 });
    expect(tokens).toBe(3);
  });

  it('needs no project as that of an application credential', async () => {
    const credential = { application_credential_id: 'id', application_credential_secret: 'secret' };
    const path = join(folder, 'other.yaml');
    await writeFile(path, JSON.stringify(cloud(credential)));
    await createNeutron({ cloud: { path }, clock, count: () => undefined }).groups();
    expect(asked[0]?.body).toEqual({
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { id: 'id', secret: 'secret' },
        },
      },
    });
  });
});

describe('a call', () => {
  it('reads all pages', async () => {
    const all = Array.from({ length: 1_200 }, (_, at) => port(String(at).padStart(4, '0')));
    answer = ({ query }) => {
      const from = all.findIndex(({ id }) => id === query.get('marker')) + 1;
      return { status: 200, body: { ports: all.slice(from, from + Number(query.get('limit'))) } };
    };
    expect(await neutron.ports()).toHaveLength(1_200);
  });

  it('asks for many ports by id in several calls', async () => {
    await neutron.ports({ ids: Array.from({ length: 250 }, (_, at) => String(at)) });
    const sizes = asked.slice(1).map(({ query }) => query.getAll('id').length);
    expect(sizes).toEqual([100, 100, 50]);
  });

  it('writes the groups of the port that was looked at', async () => {
    answer = ({ body }) => {
      const { port: changed }: { port?: object } = Object(body);
      return { status: 200, body: { port: { ...port('p'), ...changed } } };
    };
    expect((await neutron.setPortGroups(port('p'), ['a', 'b'])).security_groups).toEqual([
      'a',
      'b',
    ]);
    expect(asked[1]).toMatchObject({
      method: 'PUT',
      path: '/network/v2.0/ports/p',
      headers: { 'if-match': 'revision_number=3' },
      body: { port: { security_groups: ['a', 'b'] } },
    });
  });

  it('takes what is gone for deleted', async () => {
    answer = () => ({ status: 404, body: {} });
    expect(await neutron.deleteGroup('g')).toBeUndefined();
  });

  it.each<[string, Answer, Partial<NeutronError>]>([
    [
      'with its type',
      { status: 409, body: { NeutronError: { type: 'OverQuota', message: 'no' } } },
      { status: 409, type: 'OverQuota' },
    ],
    ['without a type', { status: 503, body: '<html>' }, { status: 503, type: 'HTTP 503' }],
    ['that is no answer', 'nothing', { status: 0, type: 'Unreachable' }],
    ['of another shape', { status: 200, body: { port: 1 } }, { status: 0, type: 'Malformed' }],
  ])('says a refusal %s', async (_, is, expected) => {
    answer = () => is;
    expect(await refused(neutron.setPortGroups(port('p'), []))).toMatchObject(expected);
    expect(counted.at(-1)).toMatch(/^PUT /);
  });
});

describe('a cloud', () => {
  const read = async (content: string, name?: string): Promise<string> => {
    const path = join(folder, 'c.yaml');
    await writeFile(path, content);
    return readCloud({ path, name }).then(
      ({ auth }) => auth.auth_url,
      (error: unknown) => String(error).replaceAll(path, 'c.yaml'),
    );
  };
  const two = { clouds: { ...cloud0('http://a'), other: cloud0('http://b').edge } };
  function cloud0(url: string) {
    return { edge: { auth: { auth_url: url, password: 'secret' } } };
  }

  it.each([
    ['clouds: [secret', undefined, 'Error: c.yaml is no YAML'],
    [
      JSON.stringify({ clouds: { edge: { auth: { auth_url: 'secret' } } } }),
      undefined,
      /^Error: c.yaml is no clouds.yaml: clouds.edge.auth.auth_url: Invalid URL$/,
    ],
    [JSON.stringify(two), undefined, 'Error: c.yaml has 2 clouds, and which of them is not said'],
    [JSON.stringify(two), 'third', 'Error: c.yaml has no cloud third: there are edge, other'],
    [JSON.stringify(two), 'other', 'http://b'],
  ])('%#: is read, or says what is wrong and no secret', async (content, name, expected) => {
    const said = await read(content, name);
    expect(said).toMatch(expected);
    expect(said).not.toContain('secret');
  });
});
