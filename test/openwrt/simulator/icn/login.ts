/** LuCI's login, logout and pages, as far as a REST client meets them. */
import type { Rpcd } from '../rpcd/rpcd.ts';
import { NO_SESSION } from '../rpcd/sessions.ts';
import { toBytes, toText } from '../bytes.ts';
import type { Answer, Request } from '../uhttpd/server.ts';

const BASE = '/cgi-bin/luci/';

/** Undefined without one. */
export const sessionOf = ({ headers }: Request): string | undefined =>
  /(?:^|;\s*)sysauth=([0-9a-f]{32})/.exec(headers.cookie ?? '')?.[1];

/** Every path that is not REST's. */
export const answerPage = async (rpcd: Rpcd, request: Request): Promise<Answer> => {
  const id = sessionOf(request);
  const user = id === undefined ? undefined : rpcd.causeOf(id, '').user;
  const rest = request.path.slice(BASE.length).replaceAll(/^\/+|\/+$/g, '');
  if (id !== undefined && user !== undefined && rest === 'admin/logout') return logOut(rpcd, id);
  if (rest !== '' && !/^admin(?:\/|$)/.test(rest)) return notFound(request.path);
  if (user !== undefined) return page(200, 'Overview');
  return (await logIn(rpcd, request)) ?? loginPage();
};

const logIn = async (rpcd: Rpcd, request: Request): Promise<Answer | undefined> => {
  const form = new URLSearchParams(request.method === 'POST' ? toText(request.body ?? '') : '');
  const [username, password] = [form.get('luci_username'), form.get('luci_password')];
  if (username === null) return undefined;
  const reply = await rpcd.call(
    { object: 'session', method: 'login' },
    { username: toBytes(username), password: toBytes(password ?? '') },
    { session: NO_SESSION },
  );
  const session = reply === 'died' ? undefined : reply.data?.['ubus_rpc_session'];
  if (typeof session !== 'string') return undefined;
  return redirect(`sysauth=${session}; path=${BASE}; SameSite=Strict; HttpOnly`);
};

const logOut = async (rpcd: Rpcd, session: string): Promise<Answer> => {
  await rpcd.call(
    { object: 'session', method: 'destroy' },
    { ubus_rpc_session: session },
    { session },
  );
  return redirect(`sysauth=; expires=Thu, 01 Jan 1970 01:00:00 GMT; path=${BASE}`);
};

const redirect = (cookie: string): Answer => ({
  status: 302,
  body: '',
  headers: { Location: BASE, 'Set-Cookie': cookie },
});

const page = (status: number, content: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  contentType: 'text/html',
  body: `<!DOCTYPE html>\n<html lang="en"><head><title>OpenWrt - LuCI</title></head><body>${content}</body></html>\n`,
});

const loginPage = (): Answer =>
  page(
    403,
    `<form method="post" action="${BASE}"><h2 name="content">Authorization Required</h2><input name="luci_username" value="root"><input type="password" name="luci_password"></form>`,
    { 'X-LuCI-Login-Required': 'yes' },
  );

export const notFound = (path: string): Answer =>
  page(404, `<h2 name="content">404 Not Found</h2><tt>Unable to dispatch: ${path}</tt>`);
