/**
 * In a pod's network namespace: answers connections on ports 80 and 81 by TCP and UDP, and makes
 * them when asked on stdin, one JSON line each: `{id, to, protocol, port, waitMs}`. Each answer is
 * a line `{id, passed}`. SCTP: sends packets, and never knows whether they arrive.
 */
import { createSocket } from 'node:dgram';
import { createServer, connect } from 'node:net';
import { createInterface } from 'node:readline';

const PORTS = [80, 81];
const FAMILIES = ['0.0.0.0', '::'];
/** What is lost of UDP is lost. */
const AGAIN_MS = 150;
const NEW_FLOW_MS = 2_000;
/**
 * UDP to this port becomes SCTP on the way out of the namespace; the port that is meant is this one
 * less.
 */
const SCTP_OFFSET = 40_000;

const tell = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const udpOf = (address) => (address.includes(':') ? 'udp6' : 'udp4');

const byTcp = ({ to, port, waitMs }) =>
  new Promise((resolve) => {
    const socket = connect({ host: to, port });
    const end = (passed) => {
      socket.destroy();
      clearTimeout(timer);
      resolve(passed);
    };
    const timer = setTimeout(() => end(false), waitMs);
    socket.on('data', () => end(true));
    socket.on('error', () => end(false));
    socket.on('connect', () => socket.write('?'));
  });

/**
 * After two seconds from another port: one flow in CI got no answer for 20 s, though its pair was
 * allowed.
 */
const byUdp = ({ to, port, waitMs }) =>
  new Promise((resolve) => {
    const sockets = [];
    let isOver = false;
    const end = (passed) => {
      if (isOver) return;
      isOver = true;
      for (const timer of [again, anew]) clearInterval(timer);
      clearTimeout(timeout);
      for (const socket of sockets) socket.close();
      resolve(passed);
    };
    const open = () => {
      const socket = createSocket(udpOf(to));
      socket.on('message', () => end(true));
      socket.on('error', () => undefined);
      sockets.push(socket);
    };
    const send = () => sockets.at(-1).send('?', port, to, () => undefined);
    const again = setInterval(send, AGAIN_MS);
    const anew = setInterval(open, NEW_FLOW_MS);
    const timeout = setTimeout(() => end(false), waitMs);
    open();
    send();
  });

const bySctp = ({ to, port }) =>
  new Promise((resolve) => {
    const socket = createSocket(udpOf(to));
    socket.on('error', () => undefined);
    socket.send(Buffer.alloc(24), SCTP_OFFSET + port, to, () => {
      socket.close();
      resolve(true);
    });
  });

const WAYS = { TCP: byTcp, UDP: byUdp, SCTP: bySctp };

/**
 * A connection that is kept open: `{id, keep: {to, port}}` opens it, `{id, ask: true}` sends over
 * it and waits for an answer.
 */
let kept;
const keep = ({ to, port }) =>
  new Promise((resolve) => {
    kept = connect({ host: to, port });
    kept.on('error', () => undefined);
    kept.once('data', () => resolve(true));
    kept.on('connect', () => kept.write('?'));
  });
const ask = (waitMs) =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), waitMs);
    kept.once('data', () => {
      clearTimeout(timer);
      resolve(true);
    });
    kept.write('?');
  });

const answered = (request) => {
  if (request.keep) return keep(request.keep);
  if (request.ask) return ask(request.waitMs);
  return WAYS[request.protocol](request);
};

const listening = FAMILIES.flatMap((host) =>
  PORTS.flatMap((port) => [
    new Promise((resolve) => {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => socket.write('!'));
      });
      server.listen({ host, port, ipv6Only: host === '::' }, resolve);
    }),
    new Promise((resolve) => {
      const socket = createSocket({ type: udpOf(host), ipv6Only: host === '::' });
      socket.on('message', (_, { address, port: to }) => socket.send('!', to, address));
      socket.bind(port, host, resolve);
    }),
  ]),
);
await Promise.all(listening);
tell({ id: 'ready', passed: true });

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const request = JSON.parse(line);
  void answered(request).then((passed) => tell({ id: request.id, passed }));
});
lines.on('close', () => process.exit(0));
