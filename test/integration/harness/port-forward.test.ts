/** As client-node forwards ports: through the real API server, by WebSocket. */
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { WebSocketHandler } from '@kubernetes/client-node/dist/web-socket-handler.js';
import { beforeAll, expect, it } from 'vitest';

import { createBench, isReady, type Bench } from './bench.ts';

/** Says its pod's name to whoever connects, and then what it is told, once. */
const GREETER = 'harness.test/greeter';
const GREETER_PROGRAM = `
  require('node:net').createServer((socket) => {
    // Who asks may be gone already.
    socket.on('error', () => undefined);
    socket.write(process.env.HOSTNAME);
    socket.once('data', (data) => socket.end(data));
  }).listen(Number(process.env.PORT_80), process.env.KTH_POD_IP);
  process.on('SIGTERM', () => process.exit(0));`;

let bench: Bench;
let handler: WebSocketHandler;

beforeAll(async () => {
  bench = await createBench('port-forward');
  bench.cluster.registerImages({
    [GREETER]: { command: [process.execPath, '-e', GREETER_PROGRAM], ports: { 80: 8080 } },
  });
  const probe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const containers = [{ name: 'main', image: GREETER, readinessProbe: probe }];
  for (const name of ['one', 'two']) await bench.run(name, { containers });
  for (const name of ['one', 'two']) await bench.until(name, isReady);
  const config = new KubeConfig();
  config.loadFromFile(bench.cluster.kubeconfig);
  handler = new WebSocketHandler(config);
});

/** What comes on both channels until the connection ends, the port before it included. */
const forwarded = async (pod: string, port: number, words: string): Promise<[Buffer, Buffer]> => {
  const path = `/api/v1/namespaces/${bench.namespace}/pods/${pod}/portforward?ports=${port}`;
  const received: [Buffer[], Buffer[]] = [[], []];
  const ended = Promise.withResolvers<void>();
  const socket = await handler.connect(path, null, (channel, data) => {
    received[channel === 0 ? 0 : 1].push(data);
    return true;
  });
  socket.addEventListener('close', () => ended.resolve());
  socket.send(Buffer.concat([Buffer.of(0), Buffer.from(words)]));
  await ended.promise;
  return [Buffer.concat(received[0]), Buffer.concat(received[1])];
};

const PORT_80 = Buffer.from([80, 0]);

it('leads to the port of just that pod, which the image has at another one of this machine', async () => {
  const answers = await Promise.all(['one', 'two'].map((pod) => forwarded(pod, 80, ' and you')));
  expect(answers.map(([data]) => data.subarray(2).toString())).toEqual([
    'one and you',
    'two and you',
  ]);
  for (const [data, error] of answers)
    expect([data.subarray(0, 2), error]).toEqual([PORT_80, PORT_80]);
});

it('says on its other channel why the pod takes no connection', async () => {
  const [data, error] = await forwarded('one', 81, 'x');
  expect(data).toHaveLength(2);
  expect(error.subarray(2).toString()).toMatch(/^error forwarding port 81: .*ECONNREFUSED/);
});
