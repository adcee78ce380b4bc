/**
 * The kubelet's own HTTPS server, as far as `kubectl logs` needs it. It shows logs to nobody but the API server, which
 * proves itself with its serving pair: a cluster of our own has no other certificates.
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';

import { HOST_IP } from './node.ts';

const FOLLOW_POLL_MS = 100;
const LOG_PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

export type LogServerOptions = {
  logsDirectory: string;
  /** The API server's pair, PEM files. */
  certificateFile: string;
  keyFile: string;
  /** Following ends when the container has. */
  isRunning: (namespace: string, pod: string, container: string) => boolean;
  signal: AbortSignal;
};

/** Resolves with the port, on loopback. */
export const startLogServer = async (options: LogServerOptions): Promise<number> => {
  const cert = await readFile(options.certificateFile);
  const key = await readFile(options.keyFile);
  const trusted = new X509Certificate(cert).raw;
  const server = createServer(
    { cert, key, ca: cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      if (!isFrom(request, trusted)) return response.writeHead(401).end();
      void answer(request, response, options).catch(() => response.destroy());
      return undefined;
    },
  );
  options.signal.addEventListener('abort', () => {
    server.close();
    server.closeAllConnections();
  });
  server.unref();
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, HOST_IP, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
};

/** The very certificate, not just one of the same CA. */
const isFrom = ({ socket }: IncomingMessage, trusted: Buffer): boolean =>
  socket instanceof TLSSocket && socket.getPeerX509Certificate()?.raw.equals(trusted) === true;

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  options: LogServerOptions,
): Promise<void> => {
  const url = new URL(request.url ?? '/', 'https://kubelet');
  const [, namespace, pod, container] = LOG_PATH.exec(url.pathname) ?? [];
  if (!namespace || !pod || !container) {
    response.writeHead(404).end('the process kubelet serves logs only; exec is a harness call\n');
    return;
  }
  const file = join(options.logsDirectory, namespace, pod, `${container}.log`);
  const lines = url.searchParams.get('tailLines');
  let position = lines === null ? 0 : await findTail(file, Number(lines));
  response.writeHead(200, { 'content-type': 'text/plain' });

  const follows = url.searchParams.get('follow') === 'true';
  for (;;) {
    // Asked before reading, so that the last lines of a container that ends meanwhile are not missed.
    const goesOn = follows && options.isRunning(namespace, pod, container);
    position += await copyFrom(file, position, response);
    if (!goesOn || response.destroyed || options.signal.aborted) break;
    await sleep(FOLLOW_POLL_MS);
  }
  response.end();
};

/** Number of bytes copied; a log that isn't there yet is an empty one. */
const copyFrom = async (file: string, start: number, response: ServerResponse): Promise<number> => {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size <= start) return 0;
  for await (const chunk of createReadStream(file, { start, end: size - 1 })) {
    response.write(chunk);
  }
  return size - start;
};

/** Where the last lines begin. */
const findTail = async (file: string, lines: number): Promise<number> => {
  const text = await readFile(file).catch(() => Buffer.alloc(0));
  let position = text.length;
  // The newline at the end belongs to the last line.
  for (let left = lines; left > 0 && position > 0; left -= 1) {
    position = text.lastIndexOf('\n', position - 2) + 1;
  }
  return position;
};
