/**
 * What this process has begun and what will come to its end without any time having to pass: HTTP
 * exchanges, told by Node's diagnostics channels, and operations on files, told by async hooks, so
 * that neither the product nor the simulator has to count. An exchange that a server of this
 * process has read and not answered is none: only the server can go on with it.
 */
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe, type ChannelListener } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type UnderWay = {
  /** What is under way, in words. Watches on an API server are not: they have no end. */
  list: () => string[];
  /** Grows with each that begins or ends. */
  count: () => number;
  close: () => void;
};

type Exchange = { what: string; port: () => number | undefined };
type Served = { request: IncomingMessage; response: ServerResponse };
type UndiciRequest = { method: string; path: string };

export const followWhatIsUnderWay = (): UnderWay => {
  const exchanges = new Map<object, Exchange>();
  const served = new Map<number, Served>();
  const undiciPorts = new WeakMap<object, number | undefined>();
  let count = 0;
  const begin = (key: object, exchange: Exchange): void => {
    count += 1;
    exchanges.set(key, exchange);
  };
  const end = (key: object): void => {
    count += 1;
    exchanges.delete(key);
  };
  const isServers = ({ port }: Exchange): boolean => {
    const { request, response } = served.get(port() ?? -1) ?? {};
    return request?.complete === true && !request.socket.destroyed && !response?.writableEnded;
  };
  const stop = listenTo({
    'http.client.request.created': ({ request }: { request: ClientRequest }) => {
      const what = `${request.method} ${request.path}`;
      begin(request, { what, port: () => request.socket?.localPort });
      request.once('close', () => end(request));
    },
    'http.server.request.start': ({ request, response }: Served) => {
      served.set(request.socket.remotePort ?? -1, { request, response });
    },
    'undici:request:create': ({ request }: { request: UndiciRequest }) => {
      const what = `${request.method} ${request.path}`;
      if (!/[?&]watch=/.test(what)) begin(request, { what, port: () => undiciPorts.get(request) });
    },
    'undici:client:sendHeaders': ({ request, socket }: { request: object; socket: Socket }) => {
      undiciPorts.set(request, socket.localPort);
    },
    'undici:request:trailers': ({ request }: { request: object }) => end(request),
    'undici:request:error': ({ request }: { request: object }) => end(request),
  });
  const operations = followOperations(() => {
    count += 1;
  });
  return {
    list: () => [
      ...[...exchanges.values()].filter((one) => !isServers(one)).map(({ what }) => what),
      ...operations.list(),
    ],
    count: () => count,
    close: () => {
      stop();
      operations.close();
    },
  };
};

/** What a channel's messages hold is known by its name alone. */
// oxlint-disable-next-line typescript/no-explicit-any
const listenTo = (channels: Record<string, (message: any) => void>): (() => void) => {
  const listeners = Object.entries(channels).map(([name, listener]): [string, ChannelListener] => [
    name,
    (message) => listener(message),
  ]);
  for (const [name, listener] of listeners) subscribe(name, listener);
  return () => {
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  };
};

/** What threads do for us: files and names. Each calls back once, at its end. */
const OPERATION = /^(?:FSREQ|FILEHANDLECLOSEREQ|GETADDRINFOREQ)/;

const followOperations = (onChange: () => void): Pick<UnderWay, 'list' | 'close'> => {
  const open = new Map<number, string>();
  const end = (id: number): void => {
    if (open.delete(id)) onChange();
  };
  const hook = createHook({
    trackPromises: false,
    init: (id, type) => {
      if (!OPERATION.test(type)) return;
      open.set(id, type);
      onChange();
    },
    before: end,
    destroy: end,
  }).enable();
  return { list: () => [...open.values()], close: () => hook.disable() };
};
