/** Agents are asked over a stream; here it leads to a server of the test. */
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { inspectionWith } from '#shared/protocol/testing.ts';
import { CannotTellError } from '../command.ts';
import { inspectAgent, resync } from './ask.ts';

const POD = { namespace: 'edge', name: 'cnf-1-a' };
const INSPECTION = inspectionWith();
const SIGNAL = new AbortController().signal;

let server: Server;
let answers: { status: number; body: string }[];
let asked: string[];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.host}`);
    const { status, body } = answers.shift() ?? { status: 500, body: '' };
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterEach(() => server.close());

const passing = (socket: Socket): Duplex => {
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => socket.write(chunk, done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (data: Buffer) => stream.push(data));
  socket.on('end', () => stream.push(null));
  return stream;
};

const cluster = {
  connectToPod: async () => {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    // No socket: what comes through a WebSocket is none either.
    return passing(connect(port, '127.0.0.1'));
  },
};

it('asks by a name of loopback, and reads the answer', async () => {
  answers = [{ status: 200, body: JSON.stringify({ ...INSPECTION, ofALaterVersion: 1 }) }];
  expect(await inspectAgent(cluster, POD, SIGNAL)).toEqual(INSPECTION);
  answers = [{ status: 200, body: '{"outcome":"passed","message":"","paused":false}' }];
  expect(await resync(cluster, POD, SIGNAL)).toMatchObject({ outcome: 'passed' });
  expect(asked).toEqual(['GET /inspect localhost:9465', 'POST /resync localhost:9465']);
});

it('reads an answer up to the first element that is wrong', async () => {
  answers = [{ status: 200, body: JSON.stringify({ ...INSPECTION, rules: [0, 0, 0] }) }];
  await expect(inspectAgent(cluster, POD, SIGNAL)).rejects.toMatchObject({
    cause: { issues: [{ path: ['rules', 0] }] },
  });
});

it('asks again when another program answers', async () => {
  answers = [
    { status: 429, body: 'another answer is under way' },
    { status: 200, body: JSON.stringify(INSPECTION) },
  ];
  expect(await inspectAgent(cluster, POD, SIGNAL)).toEqual(INSPECTION);
});

it.each([
  [{ status: 503, body: 'OpenWRT does not answer\n' }, 'OpenWRT does not answer'],
  [{ status: 200, body: '{"agent":1}' }, 'in a form that this program does not know'],
  [{ status: 200, body: 'nonsense' }, 'in a form that this program does not know'],
  [{ status: 404, body: '' }, 'HTTP 404'],
  [{ status: 200, body: 'x'.repeat(17_000_000) }, 'its answer has more than 16777216 bytes'],
])('cannot tell when the agent answers as it must not: %#', async (answer, words) => {
  answers = [answer];
  const error: unknown = await inspectAgent(cluster, POD, SIGNAL).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(CannotTellError);
  expect(error).toMatchObject({ message: expect.stringContaining(words) });
});

it('says what the kubelet said of a connection that has ended before the question', async () => {
  const ended = passing(connect(1, '127.0.0.1').on('error', () => {})).on('error', () => {});
  ended.destroy(new Error('nobody listens on port 9465 of the pod'));
  await new Promise((resolve) => {
    ended.once('close', resolve);
  });
  const refused = { connectToPod: () => Promise.resolve(ended) };
  await expect(inspectAgent(refused, POD, SIGNAL)).rejects.toThrow(
    'cnf-1-a does not answer: nobody listens on port 9465 of the pod',
  );
});
