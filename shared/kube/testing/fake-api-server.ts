/**
 * An API server in this process for unit tests of watches: one collection, resource versions, watch
 * history and the faults that a real one shows too rarely. It speaks HTTP/1.1 without TLS; what
 * only HTTP/2 has is tested on the real server.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { KubeConfig } from '../config.ts';
import { objectSchema, type KubeObject, type ObjectMeta, type ResourceType } from '../objects.ts';

export const fakeResource: ResourceType = {
  group: 'example.org',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  schema: objectSchema,
};

type LoggedEvent = { version: number; type: string; object: KubeObject };
type Refusal = { status: number; reason: string; message: string; retryAfterSeconds?: number };
type Watcher = { response: ServerResponse; bookmarks: boolean };

export class FakeApiServer {
  /** Every request so far, as `GET list`, `GET watch?resourceVersion=5` or `METHOD path`. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #objects = new Map<string, KubeObject>();
  readonly #sockets = new Set<Socket>();
  readonly #watchers = new Set<Watcher>();
  #events: LoggedEvent[] = [];
  #version = 1;
  #oldest = 0;
  #refusals = new Map<'list' | 'watch', Refusal>();

  private constructor() {
    this.#server = createServer((request, response) => this.#handle(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(): Promise<FakeApiServer> {
    const fake = new FakeApiServer();
    await new Promise<void>((resolve) => {
      fake.#server.listen(0, '127.0.0.1', resolve);
    });
    return fake;
  }

  get config(): KubeConfig {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return {
      server: `http://127.0.0.1:${address.port}`,
      namespace: undefined,
      tls: async () => ({}),
      headers: async () => ({}),
      expire: () => undefined,
    };
  }

  /** Watches that are open now. */
  get watchers(): number {
    return this.#watchers.size;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Creates or updates; watchers receive an event unless `silently` (as if it were lost). */
  put(name: string, change: Partial<ObjectMeta> = {}, { silently = false } = {}): KubeObject {
    const known = this.#objects.get(name);
    const uid = change.uid ?? known?.metadata.uid ?? `uid-of-${name}`;
    const old = known?.metadata.uid === uid ? known : undefined;
    const object: KubeObject = {
      apiVersion: 'example.org/v1',
      kind: 'Thing',
      metadata: {
        generation: 1,
        ...old?.metadata,
        ...change,
        name,
        namespace: 'default',
        uid,
        resourceVersion: String((this.#version += 1)),
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
    };
    this.#objects.set(name, object);
    this.#log(old ? 'MODIFIED' : 'ADDED', object, silently);
    return object;
  }

  remove(name: string, { silently = false } = {}): void {
    const object = this.#objects.get(name);
    if (!object) throw new Error(`no ${name}`);
    this.#objects.delete(name);
    const metadata = { ...object.metadata, resourceVersion: String((this.#version += 1)) };
    this.#log('DELETED', { ...object, metadata }, silently);
  }

  /** Sends the bookmark that a real server sends each minute to clients that want bookmarks. */
  bookmark(): void {
    const metadata = { resourceVersion: String((this.#version += 1)) };
    const line = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`;
    for (const { response, bookmarks } of this.#watchers) if (bookmarks) response.write(line);
  }

  /** To all watchers, as it is. */
  sendRaw(bytes: string | Uint8Array): void {
    for (const { response } of this.#watchers) response.write(bytes);
  }

  /** The present state of everything is sent again, as some servers do after a restart. */
  repeatAll(): void {
    for (const object of this.#objects.values())
      this.sendRaw(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
  }

  /** Ends watches as the server's own time limit does. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
  }

  /** Resets every connection. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Watches that ask for what is older than now get 410. */
  compact(): void {
    this.#oldest = this.#version;
    this.#events = [];
  }

  /**
   * Answers every list or watch with this error until it is allowed again. Open watches stay open,
   * as on the real server.
   */
  refuse(
    verb: 'list' | 'watch',
    status: number,
    reason: string,
    wait: Pick<Refusal, 'retryAfterSeconds'> = {},
  ): void {
    this.#refusals.set(verb, { status, reason, message: `${verb} is refused: ${reason}`, ...wait });
  }

  allow(): void {
    this.#refusals.clear();
  }

  #log(type: string, object: KubeObject, silently: boolean): void {
    if (silently) return;
    this.#events.push({ version: Number(object.metadata.resourceVersion), type, object });
    this.sendRaw(`${JSON.stringify({ type, object })}\n`);
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://fake');
    const isWatch = url.searchParams.get('watch') === 'true';
    const version = url.searchParams.get('resourceVersion');
    const verb = isWatch ? 'watch' : 'list';
    this.requests.push(
      isWatch ? `GET watch?resourceVersion=${version}` : `${request.method} ${verb}`,
    );
    const refusal = this.#refusals.get(verb);
    if (refusal) answer(response, refusal.status, statusOf(refusal));
    else if (isWatch) this.#watch(response, url.searchParams);
    else this.#list(response);
  }

  #list(response: ServerResponse): void {
    const metadata = { resourceVersion: String(this.#version) };
    answer(response, 200, { kind: 'ThingList', metadata, items: [...this.#objects.values()] });
  }

  #watch(response: ServerResponse, query: URLSearchParams): void {
    const version = Number(query.get('resourceVersion'));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (version < this.#oldest) {
      const object = statusOf({ status: 410, reason: 'Expired', message: 'too old' });
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    for (const event of this.#events)
      if (event.version > version)
        response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`);
    const watcher = { response, bookmarks: query.get('allowWatchBookmarks') === 'true' };
    this.#watchers.add(watcher);
    response.once('close', () => this.#watchers.delete(watcher));
  }
}

const answer = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

const statusOf = ({ status, reason, message, retryAfterSeconds }: Refusal): object => ({
  kind: 'Status',
  status: 'Failure',
  code: status,
  reason,
  message,
  ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
});
