import { afterEach, describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { ready } from '../cli/cluster/testing.ts';
import { MAX_STREAMS, MAX_STREAMS_OF_A_SESSION } from './live.ts';
import { dashboardOf } from './testing.ts';
import type { Access } from './viewer/reviews.ts';
import { SESSION_MS } from './viewer/sessions.ts';

const rule = { ...ruleOf('FirewallRule', 'r', {}), status: ready(true, 'InSync') };
const inB = { ...ruleOf('FirewallRule', 'b', {}, { namespace: 'b' }), status: rule.status };

let stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops) stop();
  stops = [];
});

const started = async (may: (user: string, access: Access) => boolean = () => true) => {
  const dashboard = dashboardOf({ rules: [rule, inB], may });
  stops.push(() => dashboard.stop.abort());
  const cookie = await dashboard.signIn();
  return { ...dashboard, cookie };
};

/** The events of a stream, one after the other. */
const eventsOf = (answer: Response) => {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const next = async (): Promise<string | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        return event;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  return { next, leave: () => reader.cancel() };
};

const markIn = (page: string): string => /data-mark="([^"]*)"/.exec(page)?.[1] ?? '';

describe('a page that is open', () => {
  it.each(['/', '/cnf/default/cnf-1', '/rule/default/FirewallRule/r', '/events'])(
    'hears of its own mark at %s, and of another one after a change',
    async (path) => {
      const { clock, cluster, cookie, get, overview } = await started();
      const mark = markIn(await (await get(path, cookie)).text());
      const { next } = eventsOf(await get(`/live?of=${encodeURIComponent(path)}`, cookie));
      expect(await next()).toBe(`event: mark\ndata: ${mark}`);
      cluster.rules[0] = {
        ...rule,
        metadata: { ...rule.metadata, resourceVersion: '2' },
        status: ready(false, 'AgentSilent', 'it is silent'),
      };
      cluster.events.push({
        namespace: 'default',
        involved: { kind: 'FirewallRule', name: 'r', uid: rule.metadata.uid },
        type: 'Warning',
        reason: 'AgentSilent',
        message: 'it is silent',
        count: 1,
        last: '2026-01-01T00:00:00Z',
      });
      overview.mark();
      await clock.step();
      const other = markIn(await (await get(path, cookie)).text());
      expect(other).not.toBe(mark);
      expect(await next()).toBe(`event: mark\ndata: ${other}`);
    },
  );

  it('hears nothing of what its viewer may not see', async () => {
    const { clock, cluster, cookie, get, overview } = await started(
      (_, { namespace }) => namespace === 'default',
    );
    const { next } = eventsOf(await get('/live?of=%2F', cookie));
    expect(await next()).toMatch(/^event: mark/);
    cluster.rules[1] = { ...inB, status: ready(false, 'AgentSilent', 'secret of b') };
    overview.mark();
    const event = next();
    for (let at = 0; at < 11; at += 1) await clock.step();
    expect(await event).toBe('event: alive\ndata: ');
  });

  it('hears when its viewer is signed out, and nothing more', async () => {
    const { clock, cookie, get } = await started();
    const { next } = eventsOf(await get('/live?of=%2F', cookie));
    await next();
    await clock.untilSleeping();
    clock.advance(SESSION_MS);
    let event = await next();
    while (event === 'event: alive\ndata: ' || event?.startsWith('event: mark'))
      event = await next();
    expect(event).toBe('event: signed-out\ndata: ');
    expect(await next()).toBeUndefined();
  });

  it('hears that it is gone, as for one that was never there', async () => {
    const { cookie, get } = await started((_, { namespace }) => namespace === 'default');
    for (const path of ['/rule/b/FirewallRule/b', '/rule/b/FirewallRule/none']) {
      const { next } = eventsOf(await get(`/live?of=${encodeURIComponent(path)}`, cookie));
      expect(await next()).toBe('event: mark\ndata: gone');
    }
  });

  it.each(['https://other.example/', '//other.example/', 'x:y'])('is none of %s', async (of) => {
    const { cookie, get } = await started();
    expect((await get(`/live?of=${encodeURIComponent(of)}`, cookie)).status).toBe(404);
  });
});

describe('open pages', () => {
  it('are so many of a session', async () => {
    const { cookie, get, live } = await started();
    const open = () => get('/live?of=%2F', cookie);
    const streams = [];
    for (let at = 0; at < MAX_STREAMS_OF_A_SESSION; at += 1) streams.push(eventsOf(await open()));
    expect((await open()).status).toBe(503);
    await streams[0]?.leave();
    await expect.poll(() => live.count()).toBe(MAX_STREAMS_OF_A_SESSION - 1);
    expect((await open()).status).toBe(200);
  });

  it('are so many in all', async () => {
    const { clock, get, live, signIn } = await started();
    const answers = [];
    for (let session = 0; session <= MAX_STREAMS / MAX_STREAMS_OF_A_SESSION; session += 1) {
      clock.advance(5_000);
      const cookie = await signIn();
      for (let at = 0; at < MAX_STREAMS_OF_A_SESSION; at += 1)
        answers.push(await get('/live?of=%2F', cookie));
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(MAX_STREAMS);
    expect(live.count()).toBe(MAX_STREAMS);
  });

  it('end with the program', async () => {
    const { cookie, get, live, stop } = await started();
    const { next } = eventsOf(await get('/live?of=%2F', cookie));
    await next();
    stop.abort();
    expect(await next()).toBeUndefined();
    expect(live.count()).toBe(0);
  });
});
