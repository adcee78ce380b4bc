import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { dashboardOf } from './testing.ts';
import { CODE_MS, SESSION_MS } from './viewer/sessions.ts';

const SECRET_NAME = 'only-for-those-who-may';
const rules = [ruleOf('FirewallRule', SECRET_NAME, {})];

describe('a browser that is not signed in', () => {
  it.each(['/', '/cnf/default/cnf-1', '/rule/default/FirewallRule/x', '/events', '/none', '/live'])(
    'gets the form and nothing else at %s',
    async (path) => {
      const { get, asked } = dashboardOf({ rules });
      const answer = await get(path);
      const text = await answer.text();
      expect(answer.status).toBe(401);
      expect(text).toContain('<h1>Sign in</h1>');
      expect(text).toBe(await (await get('/other')).text());
      expect(asked).toEqual([]);
    },
  );

  it('gets it with any cookie that was not given to it, too', async () => {
    const { get, signIn } = dashboardOf({ rules });
    const cookie = await signIn();
    expect((await get('/', cookie)).status).toBe(200);
    for (const wrong of [`${cookie}x`, 'sdewan-dashboard=', `__Host-${cookie}`])
      expect((await get('/', wrong)).status).toBe(401);
  });
});

describe('a code', () => {
  it('works once', async () => {
    const { codeFor, enter } = dashboardOf({ rules });
    const code = await codeFor('token-of-ann');
    const first = await enter(code);
    expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
    const second = await enter(code);
    expect([second.status, second.headers.get('set-cookie')]).toEqual([401, null]);
  });

  it('works for thirty seconds', async () => {
    const { clock, codeFor, enter } = dashboardOf({ rules });
    const codes = [await codeFor('token-of-ann'), await codeFor('token-of-ann')];
    clock.advance(CODE_MS - 1);
    expect((await enter(codes[0] ?? '')).status).toBe(303);
    clock.advance(1);
    expect((await enter(codes[1] ?? '')).status).toBe(401);
  });

  it('does not work when it is of another coordinator', async () => {
    const other = dashboardOf({ rules });
    const { enter, get } = dashboardOf({ rules });
    const code = await other.codeFor('token-of-ann');
    expect((await get(`/enter?code=${code}`)).status).toBe(401);
    expect((await enter(code)).status).toBe(401);
    expect((await get('/enter')).status).toBe(401);
  });

  it('signs in by no link, and by no form of another site: it could be the code of its author', async () => {
    const { codeFor, enter, get } = dashboardOf({ rules });
    const code = await codeFor('token-of-ann');
    const followed = await get(`/enter?code=${code}`);
    expect([followed.status, followed.headers.get('set-cookie')]).toEqual([200, null]);
    expect(await followed.text()).toContain('Sign in as ann');
    expect((await enter(code, 'cross-site')).status).toBe(403);
    expect((await enter(code)).status).toBe(303);
  });

  it('is given for a token that the API server accepts, and is not the token', async () => {
    const { app, codeFor } = dashboardOf({ rules });
    expect(await codeFor('token-of-ann')).toMatch(/^[\w-]{43}$/);
    expect(await codeFor('token-of-nobody')).toBe('');
    const none = await app.request('/codes', { method: 'POST' });
    expect(none.status).toBe(401);
  });
});

describe('a session', () => {
  it('is a cookie that no script reads and no other page sends', async () => {
    for (const isSecure of [false, true]) {
      const { codeFor, enter } = dashboardOf({ rules }, { isSecure });
      const entered = await enter(await codeFor('token-of-ann'));
      const cookie = entered.headers.get('set-cookie') ?? '';
      expect(cookie).toMatch(/; HttpOnly/);
      expect(cookie).toMatch(/; SameSite=Strict/);
      expect(cookie).not.toMatch(/Domain/i);
      expect(/; Secure/.test(cookie)).toBe(isSecure);
      expect(cookie.startsWith('__Host-')).toBe(isSecure);
    }
  });

  it('ends after half an hour, whatever is asked in it', async () => {
    const { clock, get, signIn } = dashboardOf({ rules });
    const cookie = await signIn();
    clock.advance(SESSION_MS - 1);
    expect((await get('/', cookie)).status).toBe(200);
    clock.advance(1);
    expect((await get('/', cookie)).status).toBe(401);
  });

  it('ends with the token that opened it', async () => {
    const users = new Map([
      ['short', { user: { username: 'ann', groups: [] }, endsAt: 60_000 }],
      ['over', { user: { username: 'ann', groups: [] }, endsAt: 0 }],
    ]);
    const { clock, codeFor, get, signIn } = dashboardOf({ rules, users });
    const cookie = await signIn('short');
    clock.advance(59_999);
    expect((await get('/', cookie)).status).toBe(200);
    clock.advance(1);
    expect((await get('/', cookie)).status).toBe(401);
    expect(await codeFor('over')).toBe('');
  });

  it('ends when its owner signs out, and not when another page says so', async () => {
    const { app, get, signIn } = dashboardOf({ rules });
    const cookie = await signIn();
    const out = (site: string) =>
      app.request('/sign-out', { method: 'POST', headers: { cookie, 'sec-fetch-site': site } });
    expect((await out('cross-site')).status).toBe(403);
    expect((await get('/', cookie)).status).toBe(200);
    expect((await out('same-origin')).headers.get('set-cookie')).toMatch(/Max-Age=0/);
    expect((await get('/', cookie)).status).toBe(401);
  });

  it('is one of ten of a user: the oldest ends', async () => {
    const { clock, get, signIn } = dashboardOf({ rules });
    const cookies = [];
    for (let each = 0; each < 11; each += 1) {
      cookies.push(await signIn());
      clock.advance(2_000);
    }
    const codes = await Promise.all(cookies.map(async (one) => (await get('/', one)).status));
    expect(codes).toEqual([401, ...Array.from({ length: 10 }, () => 200)]);
  });
});

describe('a token', () => {
  it('signs in by a form of our own page only', async () => {
    const { app, get } = dashboardOf({ rules });
    const send = (site: string) =>
      app.request('/sign-in', {
        method: 'POST',
        headers: { 'sec-fetch-site': site, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'token=token-of-ann',
      });
    expect((await send('cross-site')).status).toBe(403);
    const entered = await send('same-origin');
    expect(entered.status).toBe(303);
    expect(JSON.stringify([...entered.headers])).not.toContain('token-of-ann');
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect(await (await get('/', cookie)).text()).not.toContain('token-of-ann');
  });

  it('is tried twenty times at once, then once a second', async () => {
    const { app, clock } = dashboardOf({ rules });
    const attempt = async (): Promise<number> => {
      const headers = { authorization: 'Bearer wrong' };
      return (await app.request('/codes', { method: 'POST', headers })).status;
    };
    const codes = await Promise.all(Array.from({ length: 21 }, attempt));
    expect(codes.filter((code) => code === 401)).toHaveLength(20);
    expect(codes.at(-1)).toBe(429);
    clock.advance(1_000);
    expect(await attempt()).toBe(401);
  });

  it('is not read when it is larger than any', async () => {
    const { app } = dashboardOf({ rules });
    const body = `token=${'x'.repeat(20_000)}`;
    const headers = {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(body.length),
    };
    expect((await app.request('/sign-in', { method: 'POST', headers, body })).status).toBe(413);
  });
});

it('forbids scripts, frames and sources of others in every answer, and storing it', async () => {
  const { get, signIn } = dashboardOf({ rules });
  const cookie = await signIn();
  for (const path of ['/', '/none', '/assets/live.js', '/assets/style.css', '/enter']) {
    const { headers } = await get(path, cookie);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
  }
});
