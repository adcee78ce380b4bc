/** The ubus object `session`: login, rights, values. Session and rights checks of every other call go through `access` here. */
import { isArray, stringsOf, type Json } from '../json.ts';
import { STATUS, failed, ok, type Arguments, type BusObject, type Reply } from './bus.ts';
import type { Session, Sessions } from './sessions.ts';
import { DEFAULT_TIMEOUT_SECONDS, NO_SESSION } from './sessions.ts';

export type SessionObjectDeps = {
  sessions: Sessions;
  /** A session for these credentials (the pending one when an apply of that user waits for its confirmation), or undefined. */
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
    create: {
      arguments: { timeout: 'integer' },
      call: (args) => ok(sessions.dump(sessions.create(secondsOf(args)))),
    },
    list: { arguments: SESSION, call: withSession((session) => ok(sessions.dump(session))) },
    grant: {
      arguments: ACL_ARGUMENTS,
      call: withSession((session, args) => {
        const objects = args.array('objects');
        for (const grant of grantsOf(objects)) session.rights.grant(scopeOf(args), grant);
        return objects ? ok() : failed(STATUS.invalidArgument);
      }),
    },
    revoke: {
      arguments: ACL_ARGUMENTS,
      call: withSession((session, args) => {
        const objects = args.array('objects');
        if (!objects) session.rights.revoke(scopeOf(args));
        for (const grant of grantsOf(objects)) session.rights.revoke(scopeOf(args), grant);
        return ok();
      }),
    },
    access: {
      arguments: { ...SESSION, scope: 'string', object: 'string', function: 'string' },
      call: withSession(accessOf),
    },
    set: {
      arguments: { ...SESSION, values: 'object' },
      call: withSession((session, args) => {
        const values = args.object('values');
        if (!values) return failed(STATUS.invalidArgument);
        for (const [key, value] of Object.entries(values))
          if (key !== '') session.values.set(key, value);
        return ok();
      }),
    },
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
    unset: {
      arguments: { ...SESSION, keys: 'array' },
      call: withSession((session, args) => {
        if (!args.array('keys')) session.values.clear();
        for (const key of stringsOf(args.array('keys'))) session.values.delete(key);
        return ok();
      }),
    },
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

const grantsOf = (objects: readonly Json[] = []): { object: string; function: string }[] =>
  objects
    .filter(isArray)
    .map(stringsOf)
    .flatMap(([object, name]) =>
      object === undefined || name === undefined ? [] : [{ object, function: name }],
    );
