/**
 * A client that reaches the coordinator's port, and has no right on the API server, sends what the
 * API server and agents send. Before the paths of webhooks ended in a token it had objects made in
 * any namespace, filled logs and memory, and had the API server asked about every string that it
 * called a token.
 */
import { randomBytes } from 'node:crypto';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TIMES } from '#shared/runtime/testing.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';
import { createControlGroup, type ControlGroup } from './control-group.ts';
import { filesOf, memoryOf } from './memory.ts';

const MIB = 1_048_576;
/** As it was tried first; by day a part of it. */
const REVIEWS = TIMES > 1 ? 120 : 30;
const NAME_BYTES = 2.5 * MIB;
const LARGE = 16;
const CONNECTIONS = TIMES > 1 ? 3_000 : 1_000;
const TOKENS = TIMES > 1 ? 200 : 60;

let fixture: Fixture;
let sockets: Socket[] = [];
let group: ControlGroup | undefined;
beforeAll(async () => {
  group = await createControlGroup();
  fixture = await createFixture({}, group);
});
afterAll(async () => {
  await fixture.close();
  await group?.end();
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

type Answer = { status: number; text: string };

/** `body`: undefined: it is announced and never sent. */
const post = (
  path: string,
  body: string | undefined,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  new Promise((resolve) => {
    const options = {
      method: 'POST',
      rejectUnauthorized: false,
      agent: false,
      headers: {
        'content-length': body === undefined ? 4 * MIB : Buffer.byteLength(body),
        ...headers,
      },
    };
    const sent = request(`${fixture.url}${path}`, options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.once('close', () => {
        sent.destroy();
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    sent.once('error', (error) => resolve({ status: 0, text: String(error) }));
    if (body === undefined) sent.flushHeaders();
    else sent.end(body);
  });

const reviewOf = (namespace: string, padding = ''): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u',
      operation: 'CREATE',
      namespace,
      name: 'cnf',
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      userInfo: { username: 'nobody' },
      object: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {
          name: 'cnf',
          namespace,
          labels: { sdewanPurpose: 'cnf-1' },
          annotations: { padding },
        },
        spec: {
          template: {
            metadata: { labels: { sdewanPurpose: 'cnf-1' } },
            spec: { containers: [{ name: 'openwrt' }] },
          },
        },
      },
    },
  });

const logBytes = (): number =>
  fixture.log.map((line) => JSON.stringify(line).length).reduce((sum, length) => sum + length, 0);

const caOf = async (namespace: string): Promise<string> => {
  const args = ['get', 'configmap', 'sdewan-coordinator-ca', '-n', namespace, '-o', 'name'];
  return (await fixture.kubectl(...args, '--ignore-not-found')).stdout.trim();
};

const deployment = (namespace: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cnf', namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'cnf' } },
    template: {
      metadata: { labels: { app: 'cnf', sdewanPurpose: 'cnf-1' } },
      spec: { containers: [{ name: 'openwrt', image: 'none' }] },
    },
  },
});

/** What the product is for still happens, by way of a webhook. */
const stillServes = async (): Promise<void> => {
  const namespace = await fixture.createNamespace();
  expect(await fixture.apply([deployment(namespace)])).toMatchObject({ code: 0 });
  await eventually(() => caOf(namespace)).not.toBe('');
};

const webhooks = [
  'rules',
  'buckets',
  'rule-finalizers',
  'requests',
  'pods',
  'second-cnfs',
  'workloads',
  'workload-labels',
  'cnf-deployments',
];
const pathsOf = (webhook: string): string[] => [
  `/admission/${webhook}`,
  `/admission/${webhook}/`,
  `/admission/${webhook}/${randomBytes(16).toString('hex')}`,
];

describe('a stranger', () => {
  it('has no objects created in a namespace of others', async () => {
    for (const path of webhooks.flatMap(pathsOf))
      expect((await post(path, reviewOf('kube-system'))).status).toBe(404);
    // Announced later, and done: what had been announced before is done as well.
    await stillServes();
    expect(await caOf('kube-system')).toBe('');
  });

  it('is refused before his request body is read', async () => {
    for (const path of webhooks.flatMap(pathsOf))
      expect((await post(path, undefined)).status).toBe(404);
  });

  it('fills neither logs nor memory', async () => {
    const before = { bytes: logBytes(), ...memoryOf(fixture.pid()) };
    const name = 'n'.repeat(NAME_BYTES);
    const long = reviewOf(name);
    for (let sent = 0; sent < REVIEWS; sent += 10)
      await Promise.all(Array.from({ length: 10 }, () => post('/admission/workloads', long)));
    const large = reviewOf('default', 'x'.repeat(3.4 * MIB));
    await Promise.all(Array.from({ length: LARGE }, () => post('/admission/workloads', large)));
    await post(`/v1/namespaces/${name.slice(0, 10_000)}/pods/a/report`, '{}');
    await stillServes();
    const after = { bytes: logBytes(), ...memoryOf(fixture.pid()) };
    console.log(
      `log ${after.bytes - before.bytes} bytes; memory ${before.now} MiB before, at most ${after.peak} MiB`,
    );
    expect(after.bytes - before.bytes).toBeLessThan(100_000);
    expect(after.peak).toBeLessThan(200);
  });

  it('locks no client out by opening connections', async () => {
    const { port, hostname } = new URL(fixture.url);
    const before = filesOf(fixture.pid());
    for (let opened = 0; opened < CONNECTIONS; opened += 1) {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', () => undefined);
      sockets.push(socket);
    }
    await stillServes();
    await eventually(() => filesOf(fixture.pid())).toBeLessThan(before + 300);
  });

  it('keeps no connection to the port of probes by asking again and again', async () => {
    const { port, hostname } = new URL(fixture.httpUrl());
    const before = filesOf(fixture.pid());
    const ask = (socket: Socket): void => {
      if (socket.writable) socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    };
    const answers = Array.from({ length: CONNECTIONS }, () => {
      const socket = connect({ host: hostname, port: Number(port) }, () => ask(socket));
      socket.on('error', () => undefined);
      sockets.push(socket);
      // A connection that is reset has its answer as well.
      return new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
    });
    await Promise.all(answers);
    // Sooner than one that asks nothing is closed.
    const asking = setInterval(() => sockets.forEach(ask), 5_000);
    await eventually(() => filesOf(fixture.pid()))
      .toBeLessThan(before + 300)
      .finally(() => clearInterval(asking));
    expect((await fetch(`${fixture.httpUrl()}/readyz`)).status).toBe(200);
  });

  it('causes no request to the API server about his tokens', async () => {
    const claims = (body: object): string =>
      `h.${Buffer.from(JSON.stringify(body)).toString('base64url')}`;
    const bound = { namespace: 'default', pod: { name: 'cnf', uid: 'made-up' } };
    const forged = claims({ aud: ['sdewan-coordinator'], 'kubernetes.io': bound });
    for (let sent = 0; sent < TOKENS; sent += 1) {
      const token = sent % 2 === 0 ? `garbage-${sent}` : `${forged}.${sent}`;
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await post('/v1/namespaces/default/pods/cnf/report', '{}', headers);
      expect([401, 403, 503]).toContain(status);
    }
    const metrics = await (await fetch(`${fixture.httpUrl()}/metrics`)).text();
    expect(metrics).not.toMatch(/^sdewan_coordinator_token_reviews_total\{/m);
  });

  it('finds no token of a webhook path in a log', async () => {
    const name = `sdewan-coordinator-${fixture.systemNamespace}`;
    const { stdout } = await fixture.kubectl(
      'get',
      'validatingwebhookconfiguration',
      name,
      '-o',
      'jsonpath={.webhooks[0].clientConfig.url}',
    );
    const token = stdout.split('/').pop() ?? '';
    expect(token).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.stringify(fixture.log)).not.toContain(token);
  });
});
