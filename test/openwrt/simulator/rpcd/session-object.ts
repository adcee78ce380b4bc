/**
 * The ubus object `session`: login, rights, values. Session and rights checks of every other call
 * go through `access` here.
 */
import { stringsOf } from '../json.ts';
import { STATUS, failed, ok, type Arguments, type BusObject, type Reply } from './bus.ts';
import type { Session, Sessions } from './sessions.ts';
import { DEFAULT_TIMEOUT_SECONDS, NO_SESSION } from './sessions.ts';

export type SessionObjectDeps = {
  sessions: Sessions;
  /**
   * A session for these credentials (the pending one when an apply of that user waits for its
   * confirmation), or undefined.
   */
  login: (credentials: {
    username: string;
    password: string;
    timeoutSeconds: number;
  }) => Session | undefined;
};

const SESSION = { ubus_rpc_session: 'string' } as const;
const ACL_ARGUMENTS = { ...SESSION, scope: 'string', objects: 'array' } as const;

export const createSessionObject = ({ sessions, login }: SessionObjectDeps): BusObject => {
  const withSession =
    (answer: (session: Session, args: Arguments) => Reply) =>
    (args: Arguments): Reply => {
      const id = args.text('ubus_rpc_session');
      if (id === undefined) return failed(STATUS.invalidArgument);
      const session = sessions.get(id);
      return session ? answer(session, args) : failed(STATUS.notFound);
    };
  return {
    // No client asks for what is not simulated; `list` names it.
    create: { arguments: { timeout: 'integer' }, call: notSimulated },
    list: { arguments: SESSION, call: notSimulated },
    grant: { arguments: ACL_ARGUMENTS, call: notSimulated },
    revoke: { arguments: ACL_ARGUMENTS, call: notSimulated },
    access: {
      arguments: { ...SESSION, scope: 'string', object: 'string', function: 'string' },
      call: withSession(accessOf),
    },
    set: { arguments: { ...SESSION, values: 'object' }, call: notSimulated },
    get: {
      arguments: { ...SESSION, keys: 'array' },
      call: withSession((session, args) => {
        const values = Object.entries(sessions.valuesOf(session));
        const keys = args.array('keys') ? stringsOf(args.array('keys')) : undefined;
        return ok({
          values: Object.fromEntries(values.filter(([key]) => keys?.includes(key) ?? true)),
        });
      }),
    },
    unset: { arguments: { ...SESSION, keys: 'array' }, call: notSimulated },
    destroy: {
      arguments: SESSION,
      call: withSession((session) => {
        if (session.id === NO_SESSION) return failed(STATUS.permissionDenied);
        sessions.destroy(session.id);
        return ok();
      }),
    },
    login: {
      arguments: { username: 'string', password: 'string', timeout: 'integer' },
      call: (args) => {
        const [username, password] = [args.text('username'), args.text('password')];
        if (username === undefined || password === undefined) return failed(STATUS.invalidArgument);
        const session = login({ username, password, timeoutSeconds: secondsOf(args) });
        return session ? ok(sessions.dump(session)) : failed(STATUS.permissionDenied);
      },
    },
  };
};

const accessOf = (session: Session, args: Arguments): Reply => {
  const [object, name] = [args.text('object'), args.text('function')];
  if (object === undefined || name === undefined) return ok(session.rights.dump());
  return ok({ access: session.rights.allows(scopeOf(args), object, name) });
};

const scopeOf = (args: Arguments): string => args.text('scope') ?? 'ubus';

const secondsOf = (args: Arguments): number => args.integer('timeout') ?? DEFAULT_TIMEOUT_SECONDS;

const notSimulated = (): Reply => failed(STATUS.notSupported);
