/**
 * The driver for a stock OpenWRT with uhttpd-mod-ubus and rpcd. What its login may do decides how it reads and writes
 * (docs/drivers.md): best is a login of the agent's own, since an apply that was left pending is found by the next login of
 * the same user. Invariant: nothing of an earlier, unfinished transaction is pending or staged when a package is read or written.
 */
import { UBUS } from '#shared/inject/drivers.ts';
import { DEVICE_FILES } from '#shared/resources/device-files.ts';
import { ASSUMED, type Capabilities } from '#shared/resources/capabilities.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError, type Driver, type Fingerprint } from '../driver.ts';
import { capabilitiesOf } from '../capabilities.ts';
import { readDeviceFiles, versionOf, versionOfFiles } from '../parts/device-files.ts';
import { fastPath } from './write/fast.ts';
import { readInformation } from './information.ts';
import { rightText, rightsOf, type LoginRights } from './login/rights.ts';
import { whyNotReload } from '../services/services.ts';
import type { OpenwrtTarget } from './login/credentials.ts';
import { createUbusSessions, type UbusSession } from './client/session.ts';
import { readSettled, stateVersion } from './read/settled.ts';
import { createStagedPath } from './write/staged.ts';
import { apart, runWithFiles, USER_OF_FILES } from '../parts/with-files.ts';
import type { Base, PackageState, WritePath } from './write/write-path.ts';

export type UbusDriverOptions = {
  target: OpenwrtTarget;
  /** Packages that the agent's rules go to. */
  packages: readonly string[];
  clock: Pick<Clock, 'now' | 'monotonic' | 'after' | 'sleep'>;
  log: Logger;
};

export const createUbusDriver = ({ target, packages, clock, log }: UbusDriverOptions): Driver => {
  const sessions = createUbusSessions({
    target,
    clock,
    onLogin: async (session, signal) => {
      const rights = await rightsOf(session, packages, signal);
      ({ writable } = rights);
      const next = rights.lacking.length === 0 ? fastPath : createStagedPath(rights, clock);
      if (next.name !== path.name || sessions.count() === 1) logPath(log, next, rights);
      path = next;
      capabilities = await capabilitiesOf(session, signal);
      await path.begin(session, [...writable], signal);
      unsettled = false;
    },
  });
  let path: WritePath = fastPath;
  let writable: ReadonlySet<string> = new Set();
  let capabilities: Capabilities = ASSUMED;
  /** A transaction of this process did not come to its end. */
  let unsettled = false;
  let held: ReadonlyMap<string, PackageState> = new Map();

  /** A restart of OpenWRT ends all sessions. */
  const compose = (versions: readonly string[]): Fingerprint =>
    [sessions.count(), ...versions].join('/');
  const heldFingerprint = (): Fingerprint =>
    compose([...packages, DEVICE_FILES].map((name) => stateVersion(held.get(name))));

  const within = <T>(work: (session: UbusSession) => Promise<T>, signal: AbortSignal) => {
    if (unsettled && path.settle === undefined) sessions.leave();
    return sessions.within(work, signal);
  };
  const settle = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
    if (!unsettled) return;
    unsettled = (await path.settle?.(session, [...writable], signal)) === false;
  };
  return {
    name: UBUS.name,

    fingerprint: (signal) =>
      within(async (session) => {
        const versions = await path.versions(session, packages, signal);
        const files = held.get(DEVICE_FILES);
        return compose([
          ...packages.map((name) => versions.get(name) ?? 'absent'),
          files?.state === 'read' ? await versionOfFiles(session, files.content, signal) : 'absent',
        ]);
      }, signal),

    read: (signal) =>
      within(async (session) => {
        await settle(session, signal);
        const known = new Map(packages.map((name) => [name, stateVersion(held.get(name))]));
        const states = await readSettled({ path, session, packages, known, clock }, signal);
        held = withoutTraps(states, writable);
        if (
          held.get(USER_OF_FILES)?.state === 'read' &&
          capabilities.ipsec.noCertificates === undefined
        ) {
          const content = await readDeviceFiles(session, capabilities.ipsec.dialect, signal);
          const files: PackageState = { state: 'read', version: versionOf(content), content };
          held = new Map([...held, [DEVICE_FILES, files]]);
        }
        return {
          packages: new Map([...held].flatMap(([name, state]) => contentOf(name, state))),
          unusable: new Map([...held].flatMap(([name, state]) => whyUnusable(name, state))),
          commented: new Set([...held].flatMap(([name, state]) => ifCommented(name, state))),
          fingerprint: heldFingerprint(),
          incarnation: compose([]),
          capabilities,
        };
      }, signal),

    apply: (deltas, signal) =>
      within(async (session) => {
        await settle(session, signal);
        if (unsettled) {
          throw new OpenwrtBlockedError(
            'clear what is staged',
            'the apply of another session is pending',
          );
        }
        const { files, others } = apart(deltas, held);
        const bases = new Map(others.map((delta) => [delta.package, baseOf(held, delta.package)]));
        unsettled = true;
        const transaction = { session, deltas: others, bases, signal };
        const result = await runWithFiles(
          path,
          transaction,
          files && { delta: files, base: baseOf(held, DEVICE_FILES) },
        );
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

    information: async (signal) => {
      const session = sessions.peek();
      const state = held.get('ipsec');
      const sections = state?.state === 'read' ? state.content.sections : [];
      return session && readInformation(session, { capabilities, sections }, signal);
    },

    close: sessions.close,
  };
};

const logPath = (log: Logger, { name: path }: WritePath, { lacking }: LoginRights): void => {
  if (lacking.length === 0)
    log.info({ path }, 'ubus driver: the login has all rights, using the fast path');
  else
    log.info(
      { path, lacking: lacking.map(rightText) },
      'ubus driver: the login lacks rights, using the staged path',
    );
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
      return [
        name,
        { state: 'unusable', version: state.version, why: `/etc/config/${name}: ${why}` },
      ];
    }),
  );

const baseOf = (held: ReadonlyMap<string, PackageState>, name: string): Base => {
  const state = held.get(name);
  if (state?.state !== 'read') throw new OpenwrtError(`change ${name}`, 'it has not been read yet');
  return state;
};

const contentOf = (name: string, state: PackageState): [string, UciPackage][] =>
  state.state === 'read' ? [[name, state.content]] : [];

const ifCommented = (name: string, state: PackageState): string[] =>
  state.state === 'read' && state.hasComments === true ? [name] : [];

const whyUnusable = (name: string, state: PackageState): [string, string][] =>
  state.state === 'unusable' ? [[name, state.why]] : [];
