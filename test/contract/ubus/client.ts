/** HTTP as the recording client spoke it: one connection per request, the answer as bytes. */
import { request } from 'node:http';
import { connect } from 'node:net';

/** `body` is a byte string. */
export type Received = { status: number; body: string };

export const send = (
  url: string,
  message: { method: string; path: string; headers: Record<string, string>; body: string },
): Promise<Received> =>
  new Promise((resolve, reject) => {
    const { method, path, headers, body } = message;
    const outgoing = request(
      new URL(path, url),
      {
        method,
        headers: { ...headers, 'Content-Length': Buffer.byteLength(body, 'latin1') },
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString('latin1'),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(Buffer.from(body, 'latin1'));
  });

/** Writes the bytes and gives all that comes back until the other side closes, or resets. */
export const sendRaw = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    let received = '';
    const socket = connect(Number(port), hostname, () => {
      socket.write(bytes, 'latin1');
    });
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });

/** Status and body of an answer in chunks, as it came over the wire. */
export const parseRaw = (answer: string): Received => {
  const withoutContinue = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const [head, rest] = splitOnce(withoutContinue, '\r\n\r\n');
  let body = '';
  for (let [size, data] = splitOnce(rest, '\r\n'); Number.parseInt(size, 16) > 0;) {
    const length = Number.parseInt(size, 16);
    body += data.slice(0, length);
    [size, data] = splitOnce(data.slice(length + 2), '\r\n');
  }
  return { status: Number(head.split(' ')[1]), body };
};

const splitOnce = (text: string, separator: string): [string, string] => {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + separator.length)];
};
