import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { bodyLimit } from './body-limit.ts';

const MOST = 10;
let streamed = false;
const app = new Hono()
  .use(async (context, next) => {
    const { raw } = context.req;
    streamed = false;
    Object.defineProperty(raw, 'body', {
      get: () => {
        streamed = true;
        return Reflect.get(Request.prototype, 'body', raw);
      },
    });
    await next();
  })
  .use(bodyLimit({ maxSize: MOST, onError: (context) => context.text('too large', 413) }))
  .post('/', async (context) => context.text(await context.req.text()));

const post = async (length: number, headers: Record<string, string>): Promise<number> =>
  (await app.request('/', { method: 'POST', body: 'x'.repeat(length), headers })).status;

it.each([
  ['as long as may be', 10, { 'content-length': '10' }, 200, false],
  ['longer', 11, { 'content-length': '11' }, 413, false],
  ['that does not say how long it is', 10, {}, 200, true],
  ['that does not say that it is longer', 11, {}, 413, true],
  ['in chunks', 1, { 'content-length': '1', 'transfer-encoding': 'chunked' }, 411, false],
] as const)('answers a body %s', async (_what, length, headers, status, isStreamed) => {
  expect(await post(length, headers)).toBe(status);
  expect(streamed).toBe(isStreamed);
});
