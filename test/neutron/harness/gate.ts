/**
 * In front of Neutron, in the place of Keystone: it gives tokens as Keystone v3 does, and makes of
 * a token the headers by which a Neutron without `authtoken` knows who asks, so that its own checks
 * of rights are real. What should go wrong on the way goes wrong here.
 */
import { randomBytes } from 'node:crypto';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Identity = {
  user: string;
  password: string;
  project: string;
  roles: readonly string[];
};

/**
 * `lose`: Neutron does it, and the answer is lost. A number: this status, and Neutron is not asked.
 */
export type Fault = 'lose' | number | undefined;

export type GateCall = { method: string; path: string; status: number };

export type Gate = {
  authUrl: string;
  calls: GateCall[];
  /** Asked for each call of the network API. */
  setFault: (fault: (call: { method: string; path: string; body: string }) => Fault) => void;
  /** All tokens so far count no more. */
  revoke: () => void;
  /** Tokens that were given. */
  given: () => number;
  close: () => Promise<void>;
};

export type GateOptions = {
  /** The URL of Neutron. */
  port: number;
  identities: readonly Identity[];
  /** Life of a token. */
  tokenSeconds?: number;
};

const NETWORK = '/network';

export const startGate = async (options: GateOptions): Promise<Gate> => {
  const { identities, tokenSeconds = 3_600 } = options;
  const tokens = new Map<string, { identity: Identity; until: number }>();
  const calls: GateCall[] = [];
  let fault: Parameters<Gate['setFault']>[0] = () => undefined;
  let given = 0;

  const authenticate = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { auth } = JSON.parse(await bodyOf(asked));
    const { name, password } = auth.identity.password?.user ?? {};
    const identity = identities.find((one) => one.user === name && one.password === password);
    if (identity === undefined) {
      answer.writeHead(401).end('{"error": {"code": 401, "title": "Unauthorized"}}');
      return;
    }
    const token = randomBytes(16).toString('hex');
    const until = Date.now() + 1_000 * tokenSeconds;
    tokens.set(token, { identity, until });
    given += 1;
    const { host } = asked.headers;
    const endpoint = { interface: 'public', region_id: 'one', url: `http://${host}${NETWORK}` };
    const body = {
      token: {
        expires_at: new Date(until).toISOString(),
        project: { id: identity.project },
        catalog: [
          { type: 'identity', endpoints: [] },
          { type: 'network', endpoints: [endpoint] },
        ],
      },
    };
    answer.writeHead(201, { 'x-subject-token': token }).end(JSON.stringify(body));
  };

  const pass = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '' } = asked;
    const path = url.slice(NETWORK.length);
    const body = await bodyOf(asked);
    const known = tokens.get(String(asked.headers['x-auth-token']));
    const note = (status: number): void => void calls.push({ method, path, status });
    if (known === undefined || known.until < Date.now()) {
      note(401);
      answer.writeHead(401).end('{"error": {"code": 401}}');
      return;
    }
    const wrong = fault({ method, path, body });
    if (typeof wrong === 'number') {
      note(wrong);
      answer.writeHead(wrong).end('<html>no service</html>');
      return;
    }
    const { identity } = known;
    const ifMatch = asked.headers['if-match'];
    const done = await forward(
      options.port,
      { method, path, body },
      {
        'content-type': 'application/json',
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        'x-project-id': identity.project,
        'x-user-id': identity.user,
        'x-roles': identity.roles.join(','),
      },
    );
    if (done === undefined || wrong === 'lose') {
      note(0);
      asked.socket.destroy();
      return;
    }
    note(done.status);
    answer.writeHead(done.status, { 'content-type': 'application/json' }).end(done.body);
  };

  const server = createServer((asked, answer) => {
    const serve = asked.url === '/v3/auth/tokens' ? authenticate : pass;
    serve(asked, answer).catch(() => asked.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = Object(server.address());
  return {
    authUrl: `http://127.0.0.1:${port}/v3`,
    calls,
    setFault: (next) => {
      fault = next;
    },
    revoke: () => tokens.clear(),
    given: () => given,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const bodyOf = async (stream: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

/** Longer than any client of Neutron waits; a bulk of twenty ports can take two minutes. */
const TIMEOUT_MS = 240_000;

/** Undefined: Neutron has not answered. */
export const forward = (
  port: number,
  { method, path, body }: { method: string; path: string; body?: string },
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: string } | undefined> =>
  new Promise((resolve) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const to = { host: '127.0.0.1', port, method, path };
    const asking = request({ ...to, headers, agent: false, signal });
    asking.on('error', () => resolve(undefined));
    asking.on('response', (response) => {
      bodyOf(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, body: text }),
        () => resolve(undefined),
      );
    });
    asking.end(body === '' ? undefined : body);
  });
