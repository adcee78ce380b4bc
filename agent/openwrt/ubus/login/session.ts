/**
 * The login on rpcd. Owns the session id: it goes into requests and staging paths, never into a log
 * or an error. Credentials are read from their files at each login, so a rotated password needs no
 * restart.
 */
import * as z from 'zod';
import type { Clock } from '#shared/runtime/clock.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { createUnanswered } from '../../../io/unanswered.ts';
import { readText, readUsername, type OpenwrtTarget } from './credentials.ts';
import { OpenwrtAclError, OpenwrtError, OpenwrtLoginRefusedError } from '../../driver.ts';
import { createLoginGate, type Credentials } from './login-gate.ts';
import {
  ACCESS_DENIED,
  createRpc,
  UBUS_STATUS,
  UbusError,
  type Rpc,
  type RpcOptions,
  type UbusCall,
} from '../client/rpc.ts';

/** One session, from its login until it ends. */
export type UbusSession = {
  readonly id: string;
  /** Every code comes back as it is; only transport problems throw. */
  attempt: (
    calls: readonly UbusCall[],
    options: RpcOptions,
  ) => Promise<readonly { code: number; data: unknown }[]>;
  /** @throws UbusError when the code is not 0, OpenwrtError when the data is not of that shape. */
  call: <T>(call: UbusCall, answer: z.ZodType<T>, options: RpcOptions) => Promise<T>;
};

export type UbusSessions = {
  /** How many logins there were; a change means that the earlier session has ended. */
  count: () => number;
  /**
   * Runs `work` in the current session, or in a new one. When the session turns out to have ended,
   * `work` runs once more from its start in a new one, so it must be safe to repeat.
   */
  within: <T>(work: (session: UbusSession) => Promise<T>, signal: AbortSignal) => Promise<T>;
  /** The current session is used no more; it ends by itself. */
  leave: () => void;
  /** `Driver.unansweredSince` */
  unansweredSince: () => number | undefined;
  /** The session as it is, if there is one: for what must not cause a login. */
  peek: () => UbusSession | undefined;
  close: () => Promise<void>;
};

export type UbusSessionsDeps = {
  target: OpenwrtTarget;
  /** Called in each new session first of all, to deal with what an earlier one left behind. */
  onLogin: (session: UbusSession, signal: AbortSignal) => Promise<void>;
  clock: Pick<Clock, 'monotonic' | 'after'>;
};

const NO_SESSION = '0'.repeat(32);
/** Needs no rights; any answer shows that OpenWRT is there. */
const LOOK: UbusCall = { object: 'session', method: 'access' };
const loginSchema = z.object({ ubus_rpc_session: z.string().regex(/^[0-9a-f]{32}$/) });

export const createUbusSessions = (deps: UbusSessionsDeps): UbusSessions => {
  const { target, onLogin, clock } = deps;
  const gate = createLoginGate(clock);
  const unanswered = createUnanswered(clock);
  let current: UbusSession | undefined;
  let logins = 0;

  /** The CA is read for each call, so a replaced one takes effect at once. */
  const connect = async (): Promise<Rpc> => {
    const ca = target.caFile === undefined ? undefined : await readText(target.caFile);
    const { url, serverName } = target;
    return createRpc({ url, ca, serverName }, { clock, unanswered });
  };

  const login = async (signal: AbortSignal): Promise<UbusSession> => {
    const rpc = await connect();
    const [username, password] = await Promise.all([
      readUsername(target.usernameFile),
      readText(target.passwordFile),
    ]);
    const credentials = { username, password };
    const id = await gate.pass(credentials, {
      logIn: () => logInWith(rpc, credentials, signal),
      look: () => rpc.send(NO_SESSION, [LOOK], { signal }),
    });
    const session = createSession(connect, id);
    logins += 1;
    await onLogin(session, signal);
    current = session;
    return session;
  };

  return {
    count: () => logins,
    unansweredSince: unanswered.since,
    peek: () => current,
    within: async (work, signal) => {
      const known = current;
      if (known !== undefined) {
        try {
          return await work(known);
        } catch (error) {
          if (!(error instanceof UbusError) || error.code !== ACCESS_DENIED) throw error;
          current = undefined;
        }
      }
      return work(await login(signal));
    },
    leave: () => {
      current = undefined;
    },
    close: async () => {
      const ended = current;
      current = undefined;
      const destroy = { object: 'session', method: 'destroy' };
      const { signal } = new AbortController();
      await ended?.attempt([destroy], { signal, timeoutMs: 1_000 }).catch(() => undefined);
    },
  };
};

/** The id of a new session. @throws OpenwrtError */
const logInWith = async (rpc: Rpc, args: Credentials, signal: AbortSignal): Promise<string> => {
  const call = { object: 'session', method: 'login', args };
  const [answer] = await rpc.send(NO_SESSION, [call], { signal });
  if (answer?.code === UBUS_STATUS.permissionDenied) throw new OpenwrtLoginRefusedError();
  if (answer?.code === ACCESS_DENIED) throw new OpenwrtAclError(call);
  return checked(call, answer, loginSchema).ubus_rpc_session;
};

const createSession = (connect: () => Promise<Rpc>, id: string): UbusSession => ({
  id,
  attempt: async (calls, options) => (await connect()).send(id, calls, options),
  call: async (call, schema, options) => {
    const [answer] = await (await connect()).send(id, [call], options);
    return checked(call, answer, schema);
  },
});

/** Ubus's own code. @throws UbusError for another error, e.g. when the session has ended */
export const codeOf = (call: UbusCall, answer: { code: number } | undefined): number => {
  const code = answer?.code ?? UBUS_STATUS.noData;
  if (code < 0) throw new UbusError(call, code);
  return code;
};

/** @throws UbusError when the code is not 0, OpenwrtError when the data is not of that shape. */
export const checked = <T>(
  call: UbusCall,
  answer: { code: number; data: unknown } | undefined,
  schema: z.ZodType<T>,
): T => {
  if (answer === undefined || answer.code !== 0) {
    throw new UbusError(call, answer?.code ?? UBUS_STATUS.noData);
  }
  const parsed = parseUntrusted(schema, answer.data);
  if (!parsed.success) {
    throw new OpenwrtError(
      `ubus ${call.object} ${call.method}`,
      `unexpected answer: ${z.prettifyError(parsed.error)}`,
    );
  }
  return parsed.data;
};
