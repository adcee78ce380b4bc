/**
 * The driver for a stock OpenWRT with uhttpd-mod-ubus and rpcd, and a login of the agent's own (docs/openwrt-login.md):
 * an apply that was left pending is found by the next login of the same user, so the login must not be shared.
 * Invariant: nothing of an earlier, unfinished transaction is pending or staged when a package is read or written.
 */
import * as z from 'zod';
import type { UciPackage } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError, type Driver, type Fingerprint } from './driver.ts';
import { md5Calls, md5Of, readPackages, type PackageState } from './packages.ts';
import { writablePackages } from './rights.ts';
import { whyNotReload } from './services.ts';
import { createUbusSessions, type UbusSession, type UbusTarget } from './session.ts';
import { rollBack, runTransaction, type Base } from './transaction.ts';

export type UbusDriverOptions = {
  target: UbusTarget;
  /** Packages that the agent's rules go to. */
  packages: readonly string[];
};

const infoSchema = z.object({ uptime: z.number() });

export const createUbusDriver = ({ target, packages }: UbusDriverOptions): Driver => {
  const sessions = createUbusSessions({
    target,
    onLogin: async (session, signal) => {
      writable = await writablePackages(session, packages, signal);
      await rollBack(session, [...writable], signal);
      unsettled = false;
    },
  });
  let writable: ReadonlySet<string> = new Set();
  /** A transaction of this process did not come to its end. */
  let unsettled = false;
  let uptime = 0;
  let boots = 0;
  let held: ReadonlyMap<string, PackageState> = new Map();

  const compose = (md5s: readonly string[]): Fingerprint =>
    [sessions.count(), boots, ...md5s].join('/');
  const heldFingerprint = (): Fingerprint =>
    compose(packages.map((name) => md5OfState(held.get(name))));

  const settle = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
    if (!unsettled) return;
    unsettled = !(await rollBack(session, [...writable], signal));
  };

  return {
    name: 'ubus',

    fingerprint: (signal) =>
      sessions.within(async (session) => {
        const calls = [...md5Calls(packages), { object: 'system', method: 'info' }];
        const answers = await session.attempt(calls, { signal });
        const md5s = calls.slice(0, -1).map((call, at) => md5Of(call, answers[at]));
        // A right that the login may lack; a restart shows in its session as well.
        const info = infoSchema.safeParse(answers.at(-1)?.data);
        if (info.success) {
          if (info.data.uptime < uptime) boots += 1;
          ({ uptime } = info.data);
        }
        return compose(md5s);
      }, signal),

    read: (signal) =>
      sessions.within(async (session) => {
        await settle(session, signal);
        held = withoutTraps(await readPackages(session, packages, signal), writable);
        return {
          packages: new Map([...held].flatMap(([name, state]) => contentOf(name, state))),
          unusable: new Map([...held].flatMap(([name, state]) => whyUnusable(name, state))),
          fingerprint: heldFingerprint(),
          incarnation: compose([]),
        };
      }, signal),

    apply: (deltas, signal) =>
      sessions.within(async (session) => {
        await settle(session, signal);
        if (unsettled) {
          throw new OpenwrtBlockedError(
            'clear what is staged',
            'the apply of another session is pending',
          );
        }
        const bases = new Map(deltas.map((delta) => [delta.package, baseOf(held, delta.package)]));
        unsettled = true;
        const result = await runTransaction({ session, deltas, bases, signal });
        unsettled = false;
        if (result.outcome === 'rejected') return result;
        const states = [...result.states].map(([name, base]): [string, PackageState] => [
          name,
          { state: 'read', ...base },
        ]);
        held = new Map([...held, ...states]);
        return {
          outcome: 'done',
          observed: new Map([...result.states].map(([name, { content }]) => [name, content])),
          fingerprint: heldFingerprint(),
          warnings: result.warnings,
        };
      }, signal),

    close: sessions.close,
  };
};

/** A package that cannot be written, or that would be dangerous to reload as it is found, is left alone. */
const withoutTraps = (
  states: ReadonlyMap<string, PackageState>,
  writable: ReadonlySet<string>,
): ReadonlyMap<string, PackageState> =>
  new Map(
    [...states].map(([name, state]): [string, PackageState] => {
      if (state.state !== 'read') return [name, state];
      const why = writable.has(name)
        ? whyNotReload(state.content, false)
        : 'the login on OpenWRT may not write it';
      if (why === undefined) return [name, state];
      return [name, { state: 'unusable', md5: state.md5, why: `/etc/config/${name}: ${why}` }];
    }),
  );

const baseOf = (held: ReadonlyMap<string, PackageState>, name: string): Base => {
  const state = held.get(name);
  if (state?.state !== 'read') throw new OpenwrtError(`change ${name}`, 'it has not been read');
  return state;
};

const md5OfState = (state: PackageState | undefined): string =>
  state === undefined || state.state === 'absent' ? 'absent' : state.md5;

const contentOf = (name: string, state: PackageState): [string, UciPackage][] =>
  state.state === 'read' ? [[name, state.content]] : [];

const whyUnusable = (name: string, state: PackageState): [string, string][] =>
  state.state === 'unusable' ? [[name, state.why]] : [];
