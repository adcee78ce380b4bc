/**
 * The driver for a stock OpenWRT with uhttpd-mod-ubus and rpcd. What its login may do decides how
 * it reads and writes (docs/drivers.md): best is a login of the agent's own, since an apply that
 * was left pending is found by the next login of the same user. Invariant: nothing of an earlier,
 * unfinished transaction is pending or staged when a package is read or written.
 */
import { UBUS } from '#shared/inject/drivers.ts';
import { ASSUMED, type Capabilities } from '#shared/resources/capabilities.ts';
import { partsBeside } from '#shared/resources/parts.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, type Driver, type Fingerprint } from '../driver.ts';
import { capabilitiesOf } from '../capabilities.ts';
import { baseOf, type DeviceNow } from '../parts/part.ts';
import { runVerb } from '../kernel/calls.ts';
import { createAmender } from '../kernel/amender.ts';
import { createKernel } from '../kernel/kernel.ts';
import type { Contents } from '../kernel/look.ts';
import { applyParts, parts } from '../parts/parts.ts';
import { withoutHandles } from '../kernel/listing.ts';
import { createPolicies } from '../network-policy/policies.ts';
import { isWaitedFor, lastWordsIn, withWords } from '../services/charon-words.ts';
import { endingBy, endingOf, endTunnels, type Ending } from '../services/ipsec-tunnels.ts';
import { createFastPath } from './write/fast-path.ts';
import { readInformation } from './information.ts';
import { rightText, rightsOf, type LoginRights } from './login/rights.ts';
import type { OpenwrtTarget } from './login/credentials.ts';
import { createUbusSessions, type UbusSession } from './login/session.ts';
import { stateVersion } from './read/settled.ts';
import { runRename } from './write/rename.ts';
import { createNotDone } from './write/not-done.ts';
import { createReloadTimes } from './write/reload-times.ts';
import { createStagedPath } from './write/staged-path.ts';
import type { Timing } from './write/transaction.ts';
import type { Unconfirmed } from './write/unconfirmed.ts';
import type { Base, PackageState } from './read/packages.ts';
import type { WritePath } from './write/write-path.ts';

export type UbusDriverOptions = {
  target: OpenwrtTarget;
  /** Packages that the agent's rules go to. */
  packages: readonly string[];
  unconfirmed: Unconfirmed;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after' | 'sleep'>;
  log: Logger;
};

const WORDS_MS = 60_000;

const NO_SECTIONS: readonly UciSection[] = [];
const NEEDS_TO_RENAME =
  'the login on OpenWRT needs uci rename, apply and confirm and file list of /etc/config, or the rights of a login of its own';

// Its methods share the session and what was read last.
// oxlint-disable-next-line max-lines-per-function
export const createUbusDriver = (options: UbusDriverOptions): Driver => {
  const { target, packages, unconfirmed, clock, log } = options;
  const fastPath = createFastPath({ unconfirmed, log });
  const sessions = createUbusSessions({
    target,
    clock,
    onLogin: async (session, signal) => {
      const rights = await rightsOf(session, packages, signal);
      ({ writable, reloadable } = rights);
      const next = rights.lacking.length === 0 ? fastPath : createStagedPath(rights, clock);
      if (next.name !== path.name || sessions.count() === 1) logPath(log, next, rights);
      path = next;
      capabilities = await capabilitiesOf(session, signal);
      await path.begin(session, [...writable], signal);
      await kernel.begin(session, signal);
      unsettled = false;
    },
  });
  const kernel = createKernel(clock);
  const { table } = kernel;
  const amender = createAmender({ clock, log, table });
  const policies = createPolicies({
    session: sessions.peek,
    whyNot: () =>
      capabilities.firewall === 'fw4'
        ? kernel.whyUnread()
        : 'its firewall is one of iptables, and policies need nft',
  });
  let path: WritePath = fastPath;
  let writable: ReadonlySet<string> = new Set();
  let reloadable: ReadonlySet<string> = new Set();
  let capabilities: Capabilities = ASSUMED;
  /** A transaction of this process did not end. */
  let unsettled = false;
  let lastRead: ReadonlyMap<string, PackageState> = new Map();
  const timing: Timing = {
    clock,
    times: createReloadTimes(),
    notDone: createNotDone(clock),
  };
  /** charon's last ones of each remote. */
  let words = { at: -Infinity, said: new Map() as ReadonlyMap<string, string> };
  const names = [...packages, ...partsBeside.map(({ name }) => name)];

  /** A restart of OpenWRT ends all sessions. */
  const compose = (versions: readonly string[]): Fingerprint =>
    [sessions.count(), ...versions, kernel.version(), amender.isDoubtful()].join('/');
  const heldFingerprint = (): Fingerprint =>
    compose(names.map((name) => stateVersion(lastRead.get(name))));
  const now = (session: UbusSession): DeviceNow => ({
    session,
    path,
    capabilities,
    packages,
    writable,
    lastRead,
    clock,
  });

  const contents: Contents = (name) => {
    const state = lastRead.get(name);
    return state?.state === 'read' ? state.content.sections : NO_SECTIONS;
  };
  const lookOf = (session: UbusSession, signal: AbortSignal) => ({
    session,
    capabilities,
    contents,
    signal,
  });

  const within = <T>(work: (session: UbusSession) => Promise<T>, signal: AbortSignal) => {
    if (unsettled && path.settle === undefined) sessions.leave();
    return sessions.within(work, signal);
  };
  const settle = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
    if (!unsettled) return;
    unsettled = (await path.settle?.(session, [...writable], signal)) === false;
  };
  /** @throws OpenwrtBlockedError */
  const settleNow = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
    await settle(session, signal);
    if (!unsettled) return;
    throw new OpenwrtBlockedError(
      'clear what is staged',
      'the apply of another session is pending',
    );
  };
  /** What was read back; gives the contents. */
  const hold = (states: ReadonlyMap<string, Base>): ReadonlyMap<string, UciPackage> => {
    const read = [...states].map(([name, base]) => [name, { state: 'read', ...base }] as const);
    lastRead = new Map<string, PackageState>([...lastRead, ...read]);
    return new Map([...states].map(([name, { content }]) => [name, content]));
  };
  /** Undefined where the login has not the agent's program on OpenWRT. @throws OpenwrtError */
  const tunnelsToEnd = async (
    session: UbusSession,
    { deltas, ending }: { deltas: readonly UciDelta[]; ending: readonly string[] },
    signal: AbortSignal,
  ): Promise<Ending | undefined> => {
    const delta = deltas.find((one) => one.package === 'ipsec');
    if (delta === undefined || kernel.whyUnread() !== undefined) return undefined;
    if (capabilities.ipsec.dialect !== 'swanctl') return undefined;
    const before = contents('ipsec');
    const names = new Set([...ending, ...endingBy(delta, before)]);
    // A change that is only completed was written by an agent that may have begun nothing of it.
    return endingOf(session, names, isEmptyDelta(delta) ? NO_SECTIONS : before, signal);
  };
  /** So that what is reported of tunnels changes once a minute by words. @throws OpenwrtError */
  const listen = async (session: UbusSession, signal: AbortSignal): Promise<void> => {
    if (kernel.whyUnread() !== undefined || clock.monotonic() - words.at < WORDS_MS) return;
    words = { ...words, at: clock.monotonic() };
    const told = await runVerb(session, 'tunnel-log', signal);
    if ('stdout' in told) words = { ...words, said: lastWordsIn(told.stdout) };
  };
  return {
    name: UBUS.name,

    fingerprint: (signal) =>
      within(async (session) => {
        const versions = new Map<string, string>();
        for (const part of parts) {
          for (const [name, version] of await part.fingerprint(now(session), signal)) {
            versions.set(name, version);
          }
        }
        if (kernel.isDue()) await kernel.look(lookOf(session, signal));
        await amender.check({ session, signal }, versions.get('firewall'));
        return compose(names.map((name) => versions.get(name) ?? 'absent'));
      }, signal),

    read: (signal) =>
      within(async (session) => {
        await settle(session, signal);
        const at = lookOf(session, signal);
        const readParts = async (): Promise<void> => {
          for (const part of parts) {
            lastRead = new Map([...lastRead, ...(await part.read(now(session), signal))]);
          }
        };
        await Promise.all([kernel.see(at), readParts()]);
        const look = kernel.compare(at);
        return {
          packages: new Map([...lastRead].flatMap(([name, state]) => contentOf(name, state))),
          unusable: new Map([...lastRead].flatMap(([name, state]) => whyUnusable(name, state))),
          commented: new Set([...lastRead].flatMap(([name, state]) => ifCommented(name, state))),
          fingerprint: heldFingerprint(),
          incarnation: String(sessions.count()),
          reloadable,
          capabilities,
          kernel: look,
          ...(amender.isDoubtful() && { doubtful: new Set(['firewall']) }),
        };
      }, signal),

    rename: (renames, signal) =>
      within(async (session) => {
        await settleNow(session, signal);
        const { renamer } = path;
        if (renamer === undefined) return { outcome: 'refused', message: NEEDS_TO_RENAME };
        const names = new Set(renames.map((rename) => rename.package));
        const bases = new Map([...names].map((name) => [name, baseOf(lastRead, name)]));
        unsettled = true;
        const states = await runRename(path, renamer, { session, renames, bases, signal });
        unsettled = false;
        return { outcome: 'done', observed: hold(states), fingerprint: heldFingerprint() };
      }, signal),

    apply: (deltas, signal, ending = []) =>
      within(async (session) => {
        await settleNow(session, signal);
        for (const delta of deltas) baseOf(lastRead, delta.package);
        const tunnels = await tunnelsToEnd(session, { deltas, ending }, signal);
        unsettled = true;
        const result = await applyParts(parts, {
          session,
          path,
          lastRead,
          timing,
          amender: capabilities.firewall === 'fw4' && path === fastPath ? amender : undefined,
          deltas,
          space: kernel.space(),
          signal,
        });
        unsettled = false;
        if (result.outcome === 'rejected') return result;
        const observed = hold(result.states);
        const isEnded = tunnels && (await endTunnels(session, tunnels, contents('ipsec'), signal));
        const reloaded = deltas.map((delta) => delta.package);
        return {
          outcome: 'done',
          observed,
          kernel: await kernel.reloaded(lookOf(session, signal), reloaded, amender.left()),
          fingerprint: heldFingerprint(),
          warnings: result.warnings,
          ...(isEnded && { tunnelsEnded: true }),
        };
      }, signal),

    information: async (signal) => {
      const session = sessions.peek();
      if (session === undefined) return undefined;
      const sections = contents('ipsec');
      const seen = await readInformation(session, { capabilities, sections }, signal);
      if (seen.tunnels.some(isWaitedFor)) await listen(session, signal);
      return { ...seen, tunnels: withWords(seen.tunnels, sections, words.said) };
    },

    firewallWays: amender.ways,

    kernelRules: () => {
      const listed = table();
      if (listed) return { text: withoutHandles(listed.text) };
      return { unread: kernel.whyUnread() ?? 'the agent has not looked into the kernel yet' };
    },

    policies: () => policies,

    unansweredSince: sessions.unansweredSince,
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

const contentOf = (name: string, state: PackageState): [string, UciPackage][] =>
  state.state === 'read' ? [[name, state.content]] : [];

const ifCommented = (name: string, state: PackageState): string[] =>
  state.state === 'read' && state.hasComments === true ? [name] : [];

const whyUnusable = (name: string, state: PackageState): [string, string][] =>
  state.state === 'unusable' ? [[name, state.why]] : [];
