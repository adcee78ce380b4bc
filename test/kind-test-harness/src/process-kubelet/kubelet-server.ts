/**
 * The kubelet's own HTTPS server, as far as `kubectl logs` and port-forwards by WebSocket need it.
 * It answers the API server alone, which proves itself with its serving pair: a cluster of our own
 * has no other certificates.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { TLSSocket } from 'node:tls';

import { answerLogs, type ContainerLogsOptions } from './container-logs.ts';
import { HOST_IP } from './node.ts';
import { createPortForward, type PortForwardOptions } from './port-forward.ts';

export type KubeletServerOptions = ContainerLogsOptions &
  PortForwardOptions & {
    /** The API server's pair, PEM files. */
    certificateFile: string;
    keyFile: string;
  };

/** Resolves with the port, on loopback. */
export const startKubeletServer = async (options: KubeletServerOptions): Promise<number> => {
  const cert = await readFile(options.certificateFile);
  const key = await readFile(options.keyFile);
  const trusted = new X509Certificate(cert).raw;
  const server = createServer(
    { cert, key, ca: cert, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      if (!isFrom(request, trusted)) return response.writeHead(401).end();
      void answerLogs(urlOf(request), response, options)
        .then((isAnswered) => isAnswered || response.writeHead(404).end(NOT_HERE))
        .catch(() => response.destroy());
      return undefined;
    },
  );
  const portForward = createPortForward(options);
  server.on('upgrade', (request, socket, head) => {
    const isTaken = isFrom(request, trusted) && portForward(request, socket, head);
    if (!isTaken) socket.end(`HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n${NOT_HERE}`);
  });
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

const NOT_HERE =
  'the process kubelet serves logs, and port-forwards by WebSocket; exec is a harness call\n';

const urlOf = ({ url = '/' }: IncomingMessage): URL => new URL(url, 'https://kubelet');

/** The very certificate, not just one of the same CA. */
const isFrom = ({ socket }: IncomingMessage, trusted: Buffer): boolean =>
  socket instanceof TLSSocket && socket.getPeerX509Certificate()?.raw.equals(trusted) === true;
