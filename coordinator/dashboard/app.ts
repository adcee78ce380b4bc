/**
 * The dashboard over HTTP: signing in and out, pages, and what they are made live by. A browser
 * that is not signed in gets the form to do so, and nothing else.
 */
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import type { HttpBindings } from '@hono/node-server';
import { bodyLimit } from 'hono/body-limit';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { KubeError } from '#shared/kube/errors.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { Rate } from '#shared/runtime/rate.ts';
import { SCRIPT } from './assets/live.ts';
import { STYLE } from './assets/style.ts';
import type { Live } from './live.ts';
import {
  enterPage,
  plainPage,
  SCRIPT_PATH,
  signInPage,
  STYLE_PATH,
  wholePage,
} from './pages/layout.ts';
import type { PageDeps } from './pages/look.ts';
import { markAt, pageAt } from './pages/route.ts';
import type { Reviews } from './viewer/reviews.ts';
import { CODE_MS, type Session, type Sessions } from './viewer/sessions.ts';

export type AppDeps = PageDeps & {
  reviews: Pick<Reviews, 'identify'>;
  sessions: Sessions;
  live: Live;
  /** Browsers come by TLS. */
  isSecure: boolean;
  clock: Clock;
  log: Logger;
};

type Env = { Bindings: Partial<HttpBindings>; Variables: { session: Session } };

/** A token has a few kilobytes; nothing else is sent. */
const MAX_BODY_BYTES = 16_384;
const MAX_TOKEN_LENGTH = 12_000;
/** Attempts to sign in, by address: each is a question to the API server. */
const ATTEMPTS = { perSecond: 1, atOnce: 20, keys: 1_000 };

// oxlint-disable-next-line max-lines-per-function -- a list of routes
export const createApp = (deps: AppDeps): Hono<Env> => {
  const { clock, isSecure, live, log, reviews, sessions, overview } = deps;
  const attempts = new Rate({ ...ATTEMPTS, clock });
  /** Only sent by TLS and to this host alone, where there is TLS. */
  const cookieName = isSecure ? '__Host-sdewan-dashboard' : 'sdewan-dashboard';
  const cookieOptions = {
    httpOnly: true,
    sameSite: 'Strict',
    secure: isSecure,
    path: '/',
  } as const;

  const enter = (context: Context<Env>, opened: ReturnType<Sessions['open']>): Response => {
    const { cookie, session } = opened;
    const maxAge = Math.max(0, Math.floor((session.endsAt - clock.now()) / 1_000));
    setCookie(context, cookieName, cookie, { ...cookieOptions, maxAge });
    log.info({ user: session.user.username }, 'a user signed in to the dashboard');
    return context.redirect('/', 303);
  };
  const strangerPage = (context: Context<Env>, problem?: string): Response | Promise<Response> =>
    context.html(signInPage(problem), problem === TOO_MANY ? 429 : 401);
  const mayTry = (context: Context<Env>): boolean =>
    attempts.take(context.env?.incoming?.socket.remoteAddress ?? '');

  const signedIn: MiddlewareHandler<Env> = async (context, next) => {
    const session = sessions.find(getCookie(context, cookieName) ?? '');
    if (!session) return strangerPage(context);
    context.set('session', session);
    return next();
  };

  const app = new Hono<Env>();
  app.use(secureHeaders(headersFor(isSecure)));
  app.use(async (context, next) => {
    await next();
    context.header('Cache-Control', 'no-store');
  });
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (context) => context.text('', 413) }));

  app.get(STYLE_PATH, (context) => asset(context, STYLE, 'text/css'));
  app.get(SCRIPT_PATH, (context) => asset(context, SCRIPT, 'text/javascript'));

  // A page of another site cannot make a browser send this header to us.
  app.post('/codes', async (context) => {
    const token = BEARER.exec(context.req.header('authorization') ?? '')?.[1] ?? '';
    if (!mayTry(context)) return context.json({ error: TOO_MANY }, 429);
    const known = await identified(token);
    if (!known) return context.json({ error: BAD_TOKEN }, 401);
    const code = sessions.codeFor(known.user, known.endsAt);
    return context.json({ code, user: known.user.username, endsInMs: CODE_MS }, 201);
  });
  // A link of another site opens the page; a person sends the form, and has read for which user it
  // signs in.
  app.get('/enter', (context) => {
    if (!mayTry(context)) return strangerPage(context, TOO_MANY);
    const code = context.req.query('code') ?? '';
    const owner = sessions.ownerOf(code);
    return owner ? context.html(enterPage(code, owner.username)) : strangerPage(context, BAD_CODE);
  });
  app.post('/enter', csrf(), async (context) => {
    if (!mayTry(context)) return strangerPage(context, TOO_MANY);
    const { code } = await context.req.parseBody();
    const opened = typeof code === 'string' ? sessions.redeem(code) : undefined;
    return opened ? enter(context, opened) : strangerPage(context, BAD_CODE);
  });
  app.post('/sign-in', csrf(), async (context) => {
    if (!mayTry(context)) return strangerPage(context, TOO_MANY);
    const { token } = await context.req.parseBody();
    const known = typeof token === 'string' ? await identified(token.trim()) : undefined;
    if (!known) return strangerPage(context, BAD_TOKEN);
    return enter(context, sessions.open(known.user, known.endsAt));
  });
  app.post('/sign-out', csrf(), (context) => {
    const session = sessions.find(getCookie(context, cookieName) ?? '');
    if (session) sessions.close(session);
    deleteCookie(context, cookieName, cookieOptions);
    return strangerPage(context, 'You are signed out.');
  });

  app.get('/live', signedIn, async (context) => {
    const session = context.get('session');
    const { origin } = new URL(context.req.url);
    const of = context.req.query('of') ?? '';
    const url = URL.canParse(of, origin) ? new URL(of, origin) : undefined;
    if (url?.origin !== origin) return absent(context);
    const page = url;
    return live.follow(context, session, () => markAt(deps, session, page));
  });
  app.get('*', signedIn, async (context) => {
    const viewer = context.get('session');
    const url = new URL(context.req.url);
    const page = await pageAt(deps, viewer, url);
    if (!page) return absent(context);
    const shown = {
      viewer,
      path: url.pathname,
      now: clock.now(),
      isIncomplete: overview.isIncomplete(),
      isYoung: overview.isYoung(),
    };
    return context.html(wholePage(page, shown));
  });
  app.all('*', signedIn, (context) => absent(context));

  app.onError((error, context) => {
    if (error instanceof HTTPException) return refused(context, error.status);
    if (error instanceof KubeError) {
      log.warn({ err: error }, 'the API server does not say what a viewer may see');
      return context.html(plainPage('Nothing can be shown', UNKNOWN_RIGHTS), 503);
    }
    log.error({ err: error }, 'a page of the dashboard failed');
    return context.html(plainPage('Nothing can be shown', FAILED), 500);
  });
  return app;

  async function identified(token: string): ReturnType<Reviews['identify']> {
    if (token === '' || token.length > MAX_TOKEN_LENGTH) return undefined;
    const known = await reviews.identify(token);
    const isOver = known?.endsAt !== undefined && known.endsAt <= clock.now();
    return isOver ? undefined : known;
  }
};

const BEARER = /^Bearer +(\S+)$/i;
const BAD_TOKEN = 'The API server does not accept this token.';
const BAD_CODE = 'This code is wrong, used, or older than 30 seconds. Sign in with a token.';
const TOO_MANY = 'Too many attempts. Wait some seconds.';
const UNKNOWN_RIGHTS =
  'The API server does not answer, so the dashboard cannot tell what you may see. Reload the page in a moment.';
const FAILED = 'This is a fault of the dashboard. The log of the coordinator says more.';

/** The same, whether something is not there or may not be seen. */
const absent = (context: Context): Response | Promise<Response> =>
  context.html(plainPage('Not found', 'There is no such page, or you may not see it.'), 404);

const refused = (context: Context, status: number): Response | Promise<Response> =>
  context.html(
    plainPage('Refused', 'This form did not come from a page of the dashboard.'),
    status === 403 ? 403 : 400,
  );

const asset = (context: Context, text: string, type: string): Response =>
  context.body(text, 200, { 'Content-Type': `${type}; charset=utf-8` });

const OWN = ["'self'"];
const headersFor = (isSecure: boolean): Parameters<typeof secureHeaders>[0] => ({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: OWN,
    styleSrc: OWN,
    connectSrc: OWN,
    imgSrc: ['data:'],
    formAction: OWN,
    frameAncestors: ["'none'"],
    baseUri: ["'none'"],
  },
  xFrameOptions: 'DENY',
  referrerPolicy: 'no-referrer',
  strictTransportSecurity: isSecure,
});
