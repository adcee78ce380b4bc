import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKubeClient, type KubeClient } from './client.ts';

const statuses: number[] = [];
const methods: (string | undefined)[] = [];
const server = createServer((request, response) => {
  methods.push(request.method);
  const status = statuses.shift() ?? 200;
  response.statusCode = status;
  response.end(JSON.stringify(status === 200 ? { kind: 'Pod' } : { reason: 'TooManyRequests' }));
});
let client: KubeClient;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  client = createKubeClient({ server: `http://127.0.0.1:${address.port}` });
});
afterAll(async () => {
  await client.close();
  server.close();
});

it('repeats a read while the API server answers 429', async () => {
  statuses.push(429, 429, 200);
  await expect(client.get('/api/v1/pods')).resolves.toEqual({ kind: 'Pod' });
  statuses.push(429, 404);
  await expect(client.find('/api/v1/pods/a')).resolves.toBeUndefined();
});

it('does not repeat a write', async () => {
  methods.length = 0;
  statuses.push(429);
  await expect(client.create('/api/v1/pods', {})).rejects.toMatchObject({ status: 429 });
  expect(methods).toEqual(['POST']);
});
