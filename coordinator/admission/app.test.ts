import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import { createAdmissionApp, type Webhook } from './app.ts';
import { allowed, type ReviewVerdict } from './review.ts';
import { requestOf, zone } from './testing/changes.ts';

const TOKEN = 'f'.repeat(32);

const setUp = (webhook: Webhook) => {
  const results: string[] = [];
  const app = createAdmissionApp({
    webhooks: { rules: webhook },
    isGoodToken: (token) => token === TOKEN,
    clock: systemClock,
    onResult: (name, result) => results.push(`${name} ${result}`),
    log: silentLogger,
  });
  const post = async (body: string, path = `/admission/rules/${TOKEN}`) =>
    app.request(path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
    });
  return { app, post, results };
};

const review = (): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: requestOf(undefined, zone('lan1')),
  });

describe('the webhooks over HTTP', () => {
  it('answer with the uid of the review, a status and warnings', async () => {
    const { post, results } = setUp(() => ({
      allowed: false,
      warnings: ['x'.repeat(300)],
      code: 409,
      reason: 'Conflict',
      message: 'no',
    }));
    const answer = await (await post(review())).json();
    expect(answer).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: 'review-1',
        allowed: false,
        warnings: [`${'x'.repeat(255)}…`],
        status: { code: 409, reason: 'Conflict', message: 'no' },
      },
    });
    expect(results).toEqual(['rules denied']);
  });

  it('say nothing that a terminal would act on', async () => {
    const text = 'it has: \u001B]0;x\u0007\u202Enet0';
    const { post } = setUp(() => ({
      allowed: false,
      warnings: [text],
      code: 422,
      reason: 'Invalid',
      message: text,
    }));
    expect(await (await post(review())).text()).not.toMatch(/\\u001b|\\u0007|\u202E|\\u202e/i);
  });

  it('send a patch as the API server wants it', async () => {
    const patch = [{ op: 'add' as const, path: '/metadata/finalizers', value: ['a/b'] }];
    const { post } = setUp(() => ({ allowed: true, warnings: [], patch }));
    const { response } = (await (await post(review())).json()) as {
      response: { patch: string; patchType: string };
    };
    expect(response.patchType).toBe('JSONPatch');
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual(patch);
  });

  it('deny an object that does not match the schema of its kind, and say where', async () => {
    const { post, results } = setUp(() => {
      z.object({ spec: z.object({ containers: z.array(z.unknown()) }) }).parse({ spec: {} });
      throw new Error('not reached');
    });
    expect(await (await post(review())).json()).toMatchObject({
      response: {
        allowed: false,
        status: { message: expect.stringMatching(/^spec\.containers: /) },
      },
    });
    expect(results).toEqual(['rules denied']);
  });

  it('answer 500 when a webhook fails, so that the failurePolicy decides', async () => {
    const { post, results } = setUp(() => {
      throw new Error('no API server');
    });
    const answer = await post(review());
    expect([answer.status, await answer.text()]).toEqual([500, 'no API server\n']);
    expect(results).toEqual(['rules failed']);
  });

  it('end a review before the API server gives up, which says when in each call', async () => {
    const ended: string[] = [];
    const { post } = setUp(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('out of time')));
        }),
    );
    const ask = async (timeout: string): Promise<number> => {
      const { status } = await post(review(), `/admission/rules/${TOKEN}?timeout=${timeout}`);
      ended.push(timeout);
      return status;
    };
    expect(await Promise.all([ask('2s'), ask('1s')])).toEqual([500, 500]);
    expect(ended).toEqual(['1s', '2s']);
  });

  it.each([
    ['nothing', '', 400],
    ['no JSON', '{', 400],
    ['another version', JSON.stringify({ apiVersion: 'admission.k8s.io/v1beta1' }), 400],
    [
      'a review without request',
      '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
      400,
    ],
    ['too much', 'x'.repeat(5 * 1_048_576), 413],
  ])('refuse %s', async (_, body, status) => {
    const { post } = setUp(() => ({ allowed: true, warnings: [] }));
    expect((await post(body)).status).toBe(status);
  });

  it('read nothing that does not say how long it is', async () => {
    const { app } = setUp(() => ({ allowed: true, warnings: [] }));
    const send = (text: string): Response | Promise<Response> =>
      app.request(`/admission/rules/${TOKEN}`, {
        method: 'POST',
        body: new Blob([text]).stream(),
        headers: { 'transfer-encoding': 'chunked' },
        duplex: 'half',
      });
    expect((await send(review())).status).toBe(411);
  });

  it('handle requests of the namespaces in turn, however many one of them has', async () => {
    const asked: { namespace: string; end: () => void }[] = [];
    const { post } = setUp(
      ({ namespace }) =>
        new Promise((resolve) => {
          asked.push({ namespace, end: () => resolve({ allowed: true, warnings: [] }) });
        }),
    );
    const of = async (namespace: string) =>
      post(
        JSON.stringify({
          ...JSON.parse(review()),
          request: { ...requestOf(undefined, zone('lan1')), namespace },
        }),
      );
    const many = Array.from({ length: 40 }, () => of('busy'));
    await vi.waitFor(() => expect(asked).toHaveLength(16));
    const other = of('calm');
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    asked[0]?.end();
    asked[1]?.end();
    await vi.waitFor(() => expect(asked.map(({ namespace }) => namespace)).toContain('calm'));
    expect(asked).toHaveLength(18);
    for (let at = 0; at < asked.length || asked.length < 41; at += 1) {
      await vi.waitFor(() => expect(asked.length).toBeGreaterThan(at));
      asked[at]?.end();
    }
    expect((await other).status).toBe(200);
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual(many.map(() => 200));
  });

  const reviewOf = (more: object, bytes = 0): string =>
    JSON.stringify({
      ...JSON.parse(review()),
      request: { ...requestOf(undefined, zone('lan1')), ...more },
      more: 'x'.repeat(bytes),
    });

  it('answer small reviews while large ones wait', async () => {
    const held = Promise.withResolvers<ReviewVerdict>();
    const { post } = setUp(({ namespace }) => (namespace === 'busy' ? held.promise : allowed));
    // Four are in hand, and the rest waits.
    const large = Array.from({ length: 6 }, () => post(reviewOf({ namespace: 'busy' }, 2_000_000)));
    expect((await post(review())).status).toBe(200);
    held.resolve(allowed);
    expect((await Promise.all(large)).map(({ status }) => status)).toEqual(large.map(() => 200));
  });

  it('do not wait for what does not come', async () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const { app, post } = setUp(() => allowed);
    // A megabyte is the room of small ones.
    const endless = Array.from({ length: 16 }, async () =>
      app.request(`/admission/rules/${TOKEN}`, {
        method: 'POST',
        body: new ReadableStream(),
        headers: { 'content-length': '65536' },
        duplex: 'half',
      }),
    );
    const next = post(review());
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await next).status).toBe(200);
    expect((await Promise.all(endless)).map(({ status }) => status)).toEqual(
      endless.map(() => 408),
    );
  });

  it('let others do their work between two large reviews', async () => {
    let turns = 0;
    let turning = true;
    const turn = (): void => {
      turns += 1;
      if (turning) setTimeout(turn, 0);
    };
    const seenAt: number[] = [];
    const { post } = setUp(() => {
      seenAt.push(turns);
      const until = performance.now() + 5;
      while (performance.now() < until);
      return { allowed: true, warnings: [] };
    });
    turn();
    await Promise.all(Array.from({ length: 10 }, () => post(reviewOf({}, 400_000))));
    turning = false;
    expect(new Set(seenAt).size).toBe(10);
  });

  it('answer to any JSON', async () => {
    const { post } = setUp(() => ({ allowed: true, warnings: [] }));
    await fc.assert(
      fc.asyncProperty(fc.json(), async (body) => {
        expect((await post(body)).status).toBe(400);
      }),
      { numRuns: caseCount(200) },
    );
  });

  it('know no other paths', async () => {
    const { post } = setUp(() => ({ allowed: true, warnings: [] }));
    expect((await post(review(), `/admission/other/${TOKEN}`)).status).toBe(404);
  });

  it.each([
    ['no token', '/admission/rules'],
    ['an empty token', '/admission/rules/'],
    ['another token', `/admission/rules/${'e'.repeat(32)}`],
    ['something behind the token', `/admission/rules/${TOKEN}/more`],
  ])('do nothing for a request with %s, not even read it', async (_, path) => {
    const { post, results } = setUp(() => {
      throw new Error('asked');
    });
    const answer = await post('x'.repeat(5 * 1_048_576), path);
    expect([answer.status, answer.headers.get('connection')]).toEqual([404, 'close']);
    expect(results).toEqual([]);
  });

  it.each([
    ['a namespace that is no DNS label', { namespace: 'Kube-System' }],
    ['a namespace that is too long', { namespace: 'n'.repeat(64) }],
    ['no namespace', { namespace: undefined }],
    ['a name that is too long', { name: 'n'.repeat(254) }],
  ])('ask no other server about a review with %s', async (_, fields) => {
    const { post, results } = setUp(() => {
      throw new Error('asked');
    });
    const request = { ...requestOf(undefined, zone('lan1')), ...fields };
    const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request };
    expect((await post(JSON.stringify(body))).status).toBe(400);
    expect(results).toEqual(['rules malformed']);
  });
});
