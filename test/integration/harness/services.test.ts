import { beforeAll, describe, expect, it } from 'vitest';

import { createBench, isReady, RUN_UNTIL_STOPPED, SHELL, type Bench } from './bench.ts';

/** Answers with its pod's name. */
const WEB = 'harness.test/named';
const WEB_PROGRAM = `
  const { createServer } = require('node:http');
  createServer((request, response) => response.end(process.env.HOSTNAME))
    .listen(Number(process.env.PORT_80), process.env.KTH_POD_IP);
  process.on('SIGTERM', () => process.exit(0));`;

let bench: Bench;
beforeAll(async () => {
  bench = await createBench('services');
  bench.cluster.registerImages({
    [WEB]: { command: [process.execPath, '-e', WEB_PROGRAM], ports: { 80: 8080 } },
  });
  const probe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  const containers = [{ name: 'main', image: WEB, readinessProbe: probe }];
  await bench.run('web-1', { containers }, { labels: { app: 'web' } });
  await bench.run('web-2', { containers }, { labels: { app: 'web' } });
  await bench.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 8000, targetPort: 80 }] },
  });
  await bench.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'each' },
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { app: 'web' },
      ports: [{ port: 8000, targetPort: 80 }],
    },
  });
  await Promise.all(['web-1', 'web-2'].map(async (name) => await bench.until(name, isReady)));
  await bench.run('client', {
    containers: [
      {
        name: 'main',
        image: SHELL,
        args: [RUN_UNTIL_STOPPED],
        env: [
          { name: 'URL', value: `http://web.${bench.namespace}.svc:8000/` },
          { name: 'EACH', value: `http://each.${bench.namespace}.svc:8000/` },
        ],
      },
    ],
  });
  await bench.until('client', isReady);
});

/** What the Service answers to the client; empty when it refuses. */
const ask = async (url = 'process.env.URL'): Promise<string> => {
  const target = { namespace: bench.namespace, pod: 'client', container: 'main' };
  const program = `fetch(${url}).then((r) => r.text(), () => '').then(console.log)`;
  const { stdout } = await bench.cluster.exec(target, [process.execPath, '-e', program]);
  return stdout.trim();
};

describe('a Service', () => {
  it('leads its name in an environment to its ready pods in turn, and to them only; a headless one to each of them', async () => {
    const answers = [await ask(), await ask(), await ask()];
    expect(new Set(answers)).toEqual(new Set(['web-1', 'web-2']));
    const each = [0, 1].map((index) => `process.env.EACH.split(',')[${index}]`);
    const pods = [await ask(each[0]), await ask(each[1])];
    expect(pods.toSorted()).toEqual(['web-1', 'web-2']);
    expect([await ask(each[0]), await ask(each[1])]).toEqual(pods);

    await bench.kubectl('delete', 'pod', 'web-1', '--timeout=500s');
    expect([await ask(), await ask()]).toEqual(['web-2', 'web-2']);
    expect([await ask(each[0]), await ask(each[1])].sort()).toEqual(['', 'web-2']);
    await bench.kubectl('delete', 'pod', 'web-2', '--timeout=500s');
    expect(await ask()).toBe('');
  });
});
