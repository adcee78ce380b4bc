import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { createTokenReviewer, type TokenReviewer } from './token-reviewer.ts';

const START = Date.parse('2026-01-02T03:04:05Z');
const MINUTE = 60_000;

let elapsed: number;
let asked: unknown[];
let answer: () => unknown;
let reviewer: TokenReviewer;
/** New tokens of the pod that may still be asked about. */
let left: number;

const jwt = (endsInMs: number, salt = ''): string => {
  const payload = { exp: (START + endsInMs) / 1_000, salt };
  return `h.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.s`;
};

const accepted = (user: object = {}) => ({
  status: {
    authenticated: true,
    audiences: ['sdewan-coordinator'],
    user: {
      username: 'system:serviceaccount:edge:default',
      extra: {
        'authentication.kubernetes.io/pod-name': ['cnf-1-a'],
        'authentication.kubernetes.io/pod-uid': ['pod-1'],
      },
      ...user,
    },
  },
});

const codeOf = async (token: string): Promise<string> =>
  reviewer.review(token, 'pod-1').then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );

beforeEach(() => {
  elapsed = 0;
  left = Infinity;
  asked = [];
  answer = accepted;
  const client = {
    create: async (_resource: unknown, body: unknown) => {
      asked.push(body);
      return answer();
    },
  } as Partial<KubeClient> as KubeClient;
  const clock = { now: () => START + elapsed, monotonic: () => elapsed } as Partial<Clock> as Clock;
  reviewer = createTokenReviewer({
    client,
    clock,
    rate: { take: (pod) => left-- > 0 && pod === 'pod-1' },
  });
});

it('asks for our audience, and takes pod and namespace from the answer of the API server', async () => {
  expect(await reviewer.review(jwt(MINUTE), 'pod-1')).toEqual({
    namespace: 'edge',
    pod: 'cnf-1-a',
    podUid: 'pod-1',
  });
  expect(asked).toMatchObject([{ spec: { audiences: ['sdewan-coordinator'] } }]);
});

describe('a reviewer of tokens', () => {
  const cases: Record<string, { answer: unknown; code: string }> = {
    'what the API server does not know': {
      answer: { status: { authenticated: false } },
      code: 'bad-token',
    },
    'an empty answer': { answer: { status: {} }, code: 'bad-token' },
    'a token that was accepted for another audience': {
      answer: { status: { ...accepted().status, audiences: ['https://kubernetes.default.svc'] } },
      code: 'bad-token',
    },
    'a token that is bound to no pod': { answer: accepted({ extra: {} }), code: 'unbound-token' },
    'a user who is no service account': {
      answer: accepted({ username: 'system:node:node-1' }),
      code: 'unbound-token',
    },
  };
  it.each(Object.entries(cases))('%s', async (_name, { answer: given, code }) => {
    answer = () => given;
    expect(await codeOf(jwt(MINUTE))).toBe(code);
  });

  it('refuses no token permanently because the API server did not answer', async () => {
    answer = () => {
      throw new Error('connection refused');
    };
    expect(await codeOf(jwt(MINUTE))).toBe('unavailable');
    answer = accepted;
    expect(await codeOf(jwt(MINUTE))).toBe('accepted');
  });
});

describe('the memory of a reviewer', () => {
  it('keeps an accepted token for five minutes', async () => {
    const token = jwt(60 * MINUTE);
    await codeOf(token);
    elapsed = 5 * MINUTE - 1;
    await codeOf(token);
    expect(asked).toHaveLength(1);
    elapsed = 5 * MINUTE;
    await codeOf(token);
    expect(asked).toHaveLength(2);
  });

  it('keeps no token beyond its own end', async () => {
    const token = jwt(2 * MINUTE);
    await codeOf(token);
    elapsed = 2 * MINUTE;
    answer = () => ({ status: { authenticated: false } });
    expect(await codeOf(token)).toBe('bad-token');
  });

  it('keeps a refused one for ten seconds', async () => {
    answer = () => ({ status: { authenticated: false } });
    await codeOf('nonsense');
    elapsed = 9_999;
    await codeOf('nonsense');
    expect(asked).toHaveLength(1);
    elapsed = 10_000;
    await codeOf('nonsense');
    expect(asked).toHaveLength(2);
  });

  it('keeps a token that cannot be parsed only as long as a refused one', async () => {
    await codeOf('opaque');
    await codeOf('opaque');
    expect(asked).toHaveLength(2);
  });

  it('keeps no more than its limit, and no fewer accepted tokens because of many refused ones', async () => {
    const good = jwt(60 * MINUTE);
    await codeOf(good);
    answer = () => ({ status: { authenticated: false } });
    for (let index = 0; index < 5_001; index += 1) await codeOf(`bad-${index}`);
    const before = asked.length;
    expect(await codeOf(good)).toBe('accepted');
    expect(await codeOf('bad-5000')).toBe('bad-token');
    expect(asked).toHaveLength(before);
    await codeOf('bad-0');
    expect(asked).toHaveLength(before + 1);
  });
});

it('asks once for pages that come together', async () => {
  const token = jwt(60 * MINUTE);
  await Promise.all([codeOf(token), codeOf(token), codeOf(token)]);
  expect(asked).toHaveLength(1);
});

describe('tokens made up about one pod', () => {
  it('ask the API server as often as the rate lets through', async () => {
    left = 3;
    answer = () => ({ status: { authenticated: false } });
    const codes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(codeOf));
    expect(codes).toEqual(['bad-token', 'bad-token', 'bad-token', 'unavailable', 'unavailable']);
    expect(asked).toHaveLength(3);
  });

  it("keep neither the pod's own agent from being known again, nor the pages of its report", async () => {
    const good = jwt(60 * MINUTE);
    expect(await codeOf(good)).toBe('accepted');
    left = 0;
    elapsed = 5 * MINUTE;
    expect(await Promise.all([codeOf(good), codeOf(good)])).toEqual(['accepted', 'accepted']);
    expect(asked).toHaveLength(2);
  });

  it('include one that is refused later', async () => {
    const good = jwt(60 * MINUTE);
    await codeOf(good);
    answer = () => ({ status: { authenticated: false } });
    elapsed = 5 * MINUTE;
    expect(await codeOf(good)).toBe('bad-token');
    left = 0;
    elapsed = 6 * MINUTE;
    expect(await codeOf(good)).toBe('unavailable');
  });
});
