import { Socket } from 'node:net';
import { MAX_COUNTED_DEVICES, MAX_DENIED, type Counters } from '#shared/protocol/counters.ts';
import { OTHERS_HEADER, REPORT_VERSION } from '#shared/protocol/report.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeError } from '#shared/kube/errors.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { Rate } from '#shared/runtime/rate.ts';
import { Allowance, MOST_OF_A_POD } from './memory-allowance.ts';
import { Reports } from './reports.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { Report, RuleReport } from '#shared/protocol/report.ts';
import { sentReport as report, cnfPod, tokenSaying, word } from '../testing/facts.ts';
import { createIntake, MAX_REPORT_BYTES, type IntakeDeps } from './intake.ts';
import { Refusal } from './refusal-codes.ts';

const pod = cnfPod('cnf-1-a');
const GOOD = tokenSaying(pod);
/** Node takes no stream as a body without it. */
const STREAMS = { duplex: 'half' } as const;
const path = '/v1/namespaces/edge/pods/cnf-1-a/report';

let known: CnfPod | undefined;
let live: () => Promise<CnfPod>;
let looks: number;
let mayLook: boolean;
let proven: string;
let mayReport: boolean;
let rate: Rate;
let namespaceOf: (rule: string) => string | undefined;
let alsoGood: string;
let asked: number;
let told: string[];
let informed: string[];
let counted: string[];
let commentsLost: string[];
let results: string[];
let onTimes: IntakeDeps['onTimes'];
let ready: boolean;
let away: boolean;
const ORDER = { distance: 1, nextReportMs: 2_000, peers: [] };
let term: number | undefined;

const made = () => {
  const deps: IntakeDeps = {
    reviewer: {
      review: async (token) => {
        asked += 1;
        if (![GOOD, alsoGood].includes(token)) throw new Refusal('bad-token');
        return { namespace: 'edge', pod: known?.name ?? 'cnf-1-a', podUid: proven };
      },
    },
    pods: {
      byName: () => known,
      lookAt: () => {
        looks += 1;
        return live();
      },
    },
    looks: { take: () => mayLook },
    rate: { take: (...asked) => mayReport && rate.take(...asked) },
    allowance: new Allowance((rule) => namespaceOf(rule)),
    reports: new Reports({ silentAfterMs: 60_000 }),
    epoch: 'epoch-1',
    term: () => term,
    orderFor: (uid) => (uid === 'uid-cnf-1-a' ? ORDER : undefined),
    wasApiServerAway: () => away,
    isReady: () => ready,
    onReport: (_target, { outcome }) => told.push(outcome),
    onPushedOut: (uid) => told.push(`${uid} is pushed out`),
    onInformation: ({ name }) => informed.push(name),
    onCounters: ({ name }) => counted.push(name),
    onCommentsLost: ({ name }, packages) => commentsLost.push(`${name}: ${packages.join(', ')}`),
    onStateFolder: () => undefined,
    onUnreadOthers: () => undefined,
    onTimes,
    onResult: (result) => results.push(result),
    clock: systemClock,
    log: silentLogger,
  };
  return createIntake(deps);
};

const app = () => {
  const intake = made();
  return (
    body: string | ReadableStream,
    headers: Record<string, string> = { authorization: `Bearer ${GOOD}` },
    to = path,
  ) => intake.request(to, { method: 'POST', headers, body, ...STREAMS });
};

beforeEach(() => {
  known = pod;
  live = async () => pod;
  looks = 0;
  mayLook = true;
  proven = pod.uid;
  mayReport = true;
  rate = new Rate({ perSecond: 0, atOnce: 1_000, clock: systemClock });
  namespaceOf = () => 'edge';
  alsoGood = GOOD;
  asked = 0;
  told = [];
  informed = [];
  counted = [];
  commentsLost = [];
  results = [];
  onTimes = undefined;
  ready = true;
  away = false;
  term = 3;
});

it('accepts a report, passes it on, and answers with its epoch', async () => {
  const answer = await app()(JSON.stringify(report()));
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      epoch: 'epoch-1',
      version: REPORT_VERSION,
      leaseTransitions: 3,
      fleet: ORDER,
    },
  ]);
  expect(told).toEqual(['news']);
  expect(results).toEqual(['news']);
  expect(looks).toBe(0);
});

it('counts a report of changes as the pages of all rules that it is compared with, and no heartbeat', async () => {
  const post = app();
  const rules = (page: number): RuleReport[] =>
    Array.from({ length: 1_000 }, (_, at) => word({ uid: `uid-${page}-${at}` }));
  const send = async (some: Partial<Report>): Promise<number> =>
    (await post(JSON.stringify(report(some)))).status;
  rate = new Rate({ perSecond: 0, atOnce: 8, clock: systemClock });
  for (const page of [0, 1]) await send({ page, pages: 2, rules: rules(page) });
  expect(await send({ sequence: 2, repeats: 1, rules: [] })).toBe(200);
  expect(await send({ sequence: 3, repeats: 1, rules: [word({ uid: 'uid-0-0' })] })).toBe(200);
  expect(await send({ sequence: 4, repeats: 3, rules: [], gone: ['uid-0-1'] })).toBe(429);
  expect(await send({ sequence: 5, repeats: 3, rules: [] })).toBe(200);
});

it('takes no drift of a time that cannot be', async () => {
  const post = app();
  await post(JSON.stringify(report()));
  const drifts = [{ package: 'firewall', section: 's', uid: 'uid-a', at: 1e300 }];
  const { status } = await post(JSON.stringify(report({ sequence: 2, drifts })));
  expect([status, told]).toEqual([200, ['news', 'heartbeat']]);
});

it('leaves out the fields that it does not know', async () => {
  const more = {
    ...report({ rules: [{ ...word(), extra: 1 } as RuleReport] }),
    openwrt: { ...report().openwrt, extra: true },
  };
  expect((await app()(JSON.stringify(more))).status).toBe(200);
});

it('refuses the report of an agent of another version, whatever its form, and names both', async () => {
  const answer = await app()(JSON.stringify({ version: 9, of: 'a later one' }));
  expect([answer.status, await answer.json()]).toMatchObject([
    422,
    { error: { code: 'other-version', details: ['version: 9; this coordinator speaks 1'] } },
  ]);
  expect(told).toEqual([]);
});

it('gives no instructions, and does not accept what is reported only once, while another replica leads', async () => {
  term = undefined;
  const reportsToBoth = { authorization: `Bearer ${GOOD}`, [OTHERS_HEADER]: '1' };
  const answer = await app()(JSON.stringify(report()), reportsToBoth);
  expect(await answer.json()).toEqual({ epoch: 'epoch-1', version: REPORT_VERSION });
});

it.each([undefined, '0', 'x'])(
  'refuses the report of an agent that reports to no other coordinator, while another replica leads (%s)',
  async (others) => {
    const headers = { authorization: `Bearer ${GOOD}`, ...(others && { [OTHERS_HEADER]: others }) };
    term = undefined;
    const send = app();
    const answer = await send(JSON.stringify(report()), headers);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: 'not-leading' } },
    ]);
    // It leads next, and then does not go by what was reported before.
    expect(told).toEqual(['news']);
    term = 1;
    expect((await send(JSON.stringify(report({ sequence: 2 })), headers)).status).toBe(200);
  },
);

it('has all pages of such a report, and in full what it does not know, before it refuses that', async () => {
  term = undefined;
  const send = app();
  const statuses: number[] = [];
  for (const sent of [
    report({ sequence: 2, page: 0, pages: 2 }),
    report({ sequence: 2, page: 1, pages: 2 }),
    report({ sequence: 3, repeats: 1 }),
  ])
    statuses.push((await send(JSON.stringify(sent))).status);
  expect(statuses).toEqual([200, 503, 200]);
  expect(told).toEqual(['partial', 'news', 'unknown-base']);
});

it('asks for a full report when it does not know what is repeated', async () => {
  const answer = await app()(JSON.stringify(report({ repeats: 0 })));
  expect(await answer.json()).toMatchObject({ epoch: 'epoch-1', wantsFull: true });
});

it('keeps the information about OpenWRT, but not from a report that it refuses', async () => {
  const information = { interfaces: [], routes: [], tunnels: [], wans: [], leftOut: 0 };
  const send = app();
  await send(JSON.stringify(report({ information, repeats: 0, sequence: 2 })));
  expect(informed).toEqual([]);
  await send(JSON.stringify(report({ information, sequence: 3 })));
  expect(informed).toEqual(['cnf-1-a']);
  await send(JSON.stringify(report({ information, sequence: 3 })));
  expect(informed).toEqual(['cnf-1-a']);
});

it('takes counters at their bounds, and refuses more, and those of a report that it refuses', async () => {
  const most = Number.MAX_SAFE_INTEGER;
  const device = {
    name: 'x'.repeat(15),
    rxBytes: most,
    rxPackets: most,
    rxDropped: most,
    txBytes: most,
    txPackets: most,
    txDropped: most,
  };
  const denied = { policy: 'p'.repeat(320), direction: 'egress' as const, packets: most };
  const countersWith = (interfaces: number, policies: number): Counters => ({
    interfaces: Array.from({ length: interfaces }, () => device),
    denied: Array.from({ length: policies }, () => denied),
  });
  const largest = countersWith(MAX_COUNTED_DEVICES, MAX_DENIED);
  const send = app();
  const statusOf = async (counters: Counters, more: Partial<Report>): Promise<number> =>
    (await send(JSON.stringify(report({ counters, ...more })))).status;
  expect(await statusOf(largest, { repeats: 0, sequence: 2 })).toBe(200);
  expect(counted).toEqual([]);
  const tooMuch = [
    countersWith(MAX_COUNTED_DEVICES + 1, 0),
    countersWith(0, MAX_DENIED + 1),
    { interfaces: [{ ...device, rxBytes: -1 }], denied: [] },
    { interfaces: [{ ...device, rxBytes: most + 1 }], denied: [] },
    { interfaces: [{ ...device, name: 'x'.repeat(16) }], denied: [] },
    { interfaces: [], denied: [{ ...denied, policy: 'p'.repeat(321) }] },
  ];
  for (const counters of tooMuch) expect(await statusOf(counters, { sequence: 3 })).toBe(422);
  expect(counted).toEqual([]);
  expect(await statusOf(largest, { sequence: 3 })).toBe(200);
  expect(await statusOf(largest, { sequence: 3 })).toBe(200);
  expect(counted).toEqual(['cnf-1-a']);
});

it('passes on which comments were lost while it leads, but not from a report that it refuses', async () => {
  const send = app();
  const of = (...names: string[]) => ({ commentsLost: names });
  await send(JSON.stringify(report({ ...of('firewall'), repeats: 0, sequence: 2 })));
  expect(commentsLost).toEqual([]);
  await send(JSON.stringify(report({ ...of('firewall', 'mwan3'), sequence: 3 })));
  expect(commentsLost).toEqual(['cnf-1-a: firewall, mwan3']);
  const answer = await send(JSON.stringify(report({ ...of('no name of a package'), sequence: 4 })));
  expect(answer.status).toBe(422);
  term = undefined;
  const reportsToBoth = { authorization: `Bearer ${GOOD}`, [OTHERS_HEADER]: '1' };
  await send(JSON.stringify(report({ ...of('ipsec'), sequence: 5 })), reportsToBoth);
  expect(commentsLost).toEqual(['cnf-1-a: firewall, mwan3']);
});

it('keeps one connection of a pod for its next report, and none of who shows no token', async () => {
  const intake = made();
  const [one, other] = [new Socket(), new Socket()];
  const on = async (socket: Socket, at: string, init: RequestInit): Promise<string | null> => {
    const env = { incoming: { socket } };
    return (await intake.request(at, init, env)).headers.get('connection');
  };
  const headers = { authorization: `Bearer ${GOOD}`, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: JSON.stringify(report()) };
  expect(await on(one, path, sent)).toBeNull();
  expect(await on(other, path, sent)).toBe('close');
  expect(await on(one, path, sent)).toBeNull();
  expect(await on(other, '/v1/api-server', {})).toBe('close');
});

it('refuses an earlier boot', async () => {
  const send = app();
  await send(JSON.stringify(report()));
  await send(JSON.stringify(report({ bootId: 'boot-0002' })));
  const answer = await send(JSON.stringify(report({ sequence: 2 })));
  expect([answer.status, await answer.json()]).toMatchObject([
    409,
    { error: { code: 'old-boot' } },
  ]);
  expect(told).toEqual(['news', 'news']);
});

describe('whether the pod lives', () => {
  it('is read from the API server when the watch has not shown it yet', async () => {
    known = undefined;
    expect((await app()(JSON.stringify(report()))).status).toBe(200);
    expect(looks).toBe(1);
  });

  it('is not taken from a pod of the same name with another uid', async () => {
    known = { ...pod, uid: 'another' };
    live = async () => ({ ...pod, uid: 'another' });
    const answer = await app()(JSON.stringify(report()));
    expect(await answer.json()).toMatchObject({ error: { code: 'pod-gone' } });
  });

  it('is not denied because the API server did not answer', async () => {
    known = undefined;
    live = () =>
      Promise.reject(new KubeError('get pods', 'no answer', { status: 0, reason: 'Timeout' }));
    const answer = await app()(JSON.stringify(report()));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
  });
});

it('refuses the report of a pod without an agent, whatever its label', async () => {
  known = { ...pod, serves: undefined, agent: { state: 'missing' } };
  const answer = await app()(JSON.stringify(report()));
  expect([answer.status, await answer.json()]).toMatchObject([
    403,
    { error: { code: 'no-agent' } },
  ]);
});

describe('bodies', () => {
  /** Each the largest there may be, of a pod of its own, and nothing of it comes. */
  const endless = async (send: ReturnType<typeof app>, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      known = cnfPod(`cnf-1-${at}`);
      proven = known.uid;
      alsoGood = tokenSaying(known);
      const headers = {
        authorization: `Bearer ${alsoGood}`,
        'content-length': String(MAX_REPORT_BYTES),
      };
      void send(new ReadableStream(), headers, path.replace(pod.name, known.name));
      await vi.advanceTimersByTimeAsync(0);
    }
    known = pod;
    proven = pod.uid;
  };
  /** Statuses of the answers so far. */
  const posted = (send: ReturnType<typeof app>): number[] => {
    const statuses: number[] = [];
    void (async () => statuses.push((await send(JSON.stringify(report()))).status))();
    return statuses;
  };
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('fill the memory of eight largest reports at a time, for three seconds at most', async () => {
    const send = app();
    await endless(send, 8);
    const next = posted(send);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(next).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(next).toEqual([200]);
    expect(results).toHaveLength(9);
    expect(results.filter((result) => result === 'too-slow')).toHaveLength(8);
  });

  it('wait for five seconds behind others of their namespace', async () => {
    const send = app();
    await endless(send, 24);
    const next = posted(send);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(next).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(next).toEqual([503]);
  });

  it('wait for two hundred reports of a namespace, and the next is refused at once', async () => {
    const send = app();
    await endless(send, 208);
    const next = posted(send);
    await vi.advanceTimersByTimeAsync(0);
    expect(next).toEqual([503]);
  });

  it('are read one at a time of each pod', async () => {
    const send = app();
    void send(new ReadableStream());
    await vi.advanceTimersByTimeAsync(0);
    const next = posted(send);
    await vi.advanceTimersByTimeAsync(0);
    expect(next).toEqual([429]);
  });
});

describe('refusals', () => {
  const cases: Record<string, { body: string; status: number; says: string }> = {
    'a body that is too large': {
      body: ' '.repeat(1_048_577),
      status: 413,
      says: 'too-large',
    },
    'broken JSON': { body: '{', status: 400, says: 'not-json' },
    'a version that is none': {
      body: JSON.stringify({ ...report(), version: 'two' }),
      status: 422,
      says: 'version: ',
    },
    'a page that is not among the pages': {
      body: JSON.stringify(report({ page: 1 })),
      status: 422,
      says: 'page: 1 of 1',
    },
    'more pages than any OpenWRT can fill': {
      body: JSON.stringify(report({ pages: 21 })),
      status: 422,
      says: 'at most 20',
    },
    'a heartbeat with pages': {
      body: JSON.stringify(report({ repeats: 1, pages: 2 })),
      status: 422,
      says: 'repeats: ',
    },
    'another purpose': {
      body: JSON.stringify(report({ purpose: 'cnf-2' })),
      status: 403,
      says: 'other-purpose',
    },
  };
  it.each(Object.entries(cases))('%s', async (_name, { body, status, says }) => {
    const answer = await app()(body);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(await answer.json())).toContain(says);
    expect(told).toEqual([]);
    expect(results).toHaveLength(1);
  });

  it('name the first five problems of a malformed report', async () => {
    const rules = Array.from({ length: 9 }, () => ({ ...word(), uid: 1 }));
    const answer = await app()(JSON.stringify({ ...report(), rules }));
    const { error } = (await answer.json()) as { error: { details: string[] } };
    expect(error.details).toHaveLength(5);
  });

  it.each([
    ['other-namespace', '/v1/namespaces/core/pods/cnf-1-a/report'],
    ['other-pod', '/v1/namespaces/edge/pods/cnf-1-b/report'],
  ])('include a report about another: %s', async (code, to) => {
    const answer = await app()(JSON.stringify(report()), undefined, to);
    expect([answer.status, await answer.json()]).toMatchObject([403, { error: { code } }]);
    expect(told).toEqual([]);
  });

  it('check a token before a byte of the body is read', async () => {
    const body = ' '.repeat(MAX_REPORT_BYTES + 1);
    expect((await app()(body, { authorization: 'Bearer bad' })).status).toBe(401);
    expect((await app()(body, {})).status).toBe(401);
    expect((await app()(body, { authorization: `Basic ${GOOD}` })).status).toBe(401);
  });

  const claims = (body: object): string =>
    `h.${Buffer.from(JSON.stringify(body)).toString('base64url')}.s`;
  it.each([
    ['no token', 'garbage', 'bad-token'],
    ['a payload that is no JSON', 'h.e30x.s', 'bad-token'],
    ['no signature', GOOD.slice(0, -1), 'bad-token'],
    ['too much', `${GOOD}${'x'.repeat(9_000)}`, 'bad-token'],
    ['another audience', claims({ aud: ['vault'] }), 'bad-token'],
    ['no pod', claims({ aud: 'sdewan-coordinator' }), 'unbound-token'],
    ['another namespace', tokenSaying({ ...pod, namespace: 'core' }), 'other-namespace'],
    ['another pod', tokenSaying({ ...pod, name: 'cnf-1-b' }), 'other-pod'],
    ['a pod that is gone', tokenSaying({ ...pod, uid: 'another' }), 'pod-gone'],
  ])('ask the API server nothing about what says it is %s', async (_, token, code) => {
    const answer = await app()(JSON.stringify(report()), { authorization: `Bearer ${token}` });
    expect(await answer.json()).toMatchObject({ error: { code } });
    expect(asked).toBe(0);
  });

  it('include a pod that no node runs', async () => {
    known = { ...pod, agent: { state: 'never-started', scheduled: false } };
    live = async () => known ?? pod;
    const answer = await app()(JSON.stringify(report()));
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { code: 'not-started' } },
    ]);
  });

  it('include no pod whose agent was started since the watch told of it', async () => {
    known = { ...pod, agent: { state: 'never-started', scheduled: false } };
    expect((await app()(JSON.stringify(report()))).status).toBe(200);
    expect(looks).toBe(1);
  });

  it('include a pod that reports too often, before its body is read', async () => {
    mayReport = false;
    const answer = await app()(' '.repeat(MAX_REPORT_BYTES + 1));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2']);
  });

  it('leave out what is unknown of a rule until the full report comes again', async () => {
    const post = app();
    namespaceOf = () => undefined;
    const rules = Array.from({ length: 200 }, (_, index) =>
      word({ uid: `rule-${index}`, message: 'x'.repeat(1_000) }),
    );
    const answerTo = async (said: Parameters<typeof report>[0]) =>
      (await post(JSON.stringify(report(said)))).json();
    expect(await answerTo({ rules })).not.toHaveProperty('wantsFull');
    expect(await answerTo({ sequence: 2, repeats: 1 })).toMatchObject({ wantsFull: true });
    const changes = { sequence: 3, repeats: 1, rules: [word()] };
    expect(await answerTo(changes)).toMatchObject({ wantsFull: true });
  });

  it('bound what reports of changes come to together', async () => {
    const post = app();
    await post(JSON.stringify(report()));
    for (let sequence = 2; sequence < 14; sequence += 1) {
      const rules = Array.from({ length: 700 }, (_, index) =>
        word({ uid: `rule-${sequence}-${index}`, message: 'x'.repeat(1_000) }),
      );
      await post(JSON.stringify(report({ sequence, repeats: sequence - 1, rules })));
    }
    expect(results.slice(0, 6)).toEqual(Array(6).fill('news'));
    expect(results.indexOf('too-much') * 700_000).toBeLessThan(MOST_OF_A_POD);
    expect(results.slice(results.indexOf('too-much') + 1)).not.toContain('news');
  });

  it('more than is kept of a namespace, even when an earlier report arrives late in between', async () => {
    const post = app();
    const others = Array.from({ length: 9 }, (_, index) => ({ ...pod, uid: `uid-${index}` }));
    const rules = Array.from({ length: 900 }, (_, index) =>
      word({ uid: `rule-${index}`, message: 'x'.repeat(1_000) }),
    );
    const codes: number[] = [];
    for (const other of others) {
      known = other;
      alsoGood = tokenSaying(other);
      proven = other.uid;
      const send = async (changes: Parameters<typeof report>[0]) => {
        const body = JSON.stringify(report({ sequence: 9, ...changes }));
        codes.push((await post(body, { authorization: `Bearer ${alsoGood}` })).status);
      };
      for (let page = 0; page < 6; page += 1) await send({ page, pages: 6, rules });
      await send({ sequence: 1 });
    }
    expect(codes.filter((code) => code === 413).length).toBeGreaterThan(0);
  });

  it('claims of a token that the API server contradicts', async () => {
    const other = { ...pod, uid: 'another' };
    known = other;
    alsoGood = tokenSaying(other);
    const answer = await app()(JSON.stringify(report()), {
      authorization: `Bearer ${tokenSaying(other)}`,
    });
    expect(answer.status).toBe(401);
    expect(told).toEqual([]);
  });

  it('unknown pods beyond the rate of lookups', async () => {
    known = undefined;
    mayLook = false;
    expect((await app()(JSON.stringify(report()))).status).toBe(503);
    expect([looks, asked]).toEqual([0, 0]);
  });

  it('include every report while the pods are not known', async () => {
    ready = false;
    expect((await app()(JSON.stringify(report()))).status).toBe(503);
  });
});

it.each([true, false])('says without a token whether the API server is away: %s', async (is) => {
  [away, ready] = [is, false];
  const answer = await made().request('/v1/api-server');
  expect([answer.status, await answer.json()]).toEqual([200, { wasAway: is }]);
  expect([asked, looks, results]).toEqual([0, 0, []]);
});
