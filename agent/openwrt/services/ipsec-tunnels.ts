/**
 * Tunnels that a change of package ipsec leaves up: charon forgets a connection that it is not told
 * of any more, and goes on with what it has made of it, rekeys it too, unless the connection starts
 * by itself (seen with charon 5.9.8). Which are up is asked before the change, so that what comes
 * up by the new configuration stays.
 */
import { listOf } from '#shared/resources/render.ts';
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { OpenwrtError } from '../driver.ts';
import { compareSections, type Compared } from '../kernel/sections.ts';
import { runVerb, runVerbOn } from '../kernel/calls.ts';
import { TUNNELS_FILE } from '../kernel/helper.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import { associationsIn, connectionsOf, type Association } from '../ubus/tunnels.ts';

/**
 * Lists of a remote say which connections it has, which have sections of their own; the stamp says
 * nothing of a tunnel. Another key counts when both sides authenticate next: charon would not start
 * the connection again by itself.
 */
const OF_NO_TUNNEL: ReadonlySet<string> = new Set([
  'tunnel',
  'transport',
  'child',
  'pre_shared_key',
  'sdewan_made',
]);

/**
 * A proposal counts by what is in it: charon takes no notice of its name, and would not start again
 * what is ended for another one.
 */
const ofTunnel = (
  { options, ...section }: UciSection,
  all: ReadonlyMap<string, UciSection>,
): UciSection => ({
  ...section,
  options: {
    ...Object.fromEntries(Object.entries(options).filter(([name]) => !OF_NO_TUNNEL.has(name))),
    crypto_proposal: listOf(options.crypto_proposal).map((name) => {
      const { sdewan_made: _stamp, ...proposal } = all.get(name)?.options ?? {};
      return JSON.stringify(
        Object.entries(proposal).sort(([one], [other]) => (one < other ? -1 : 1)),
      );
    }),
  },
});

/** What the delta takes away or changes, as charon calls it: `remote`, or `remote/connection`. */
export const endingBy = (
  delta: UciDelta | undefined,
  before: readonly UciSection[],
): readonly string[] => {
  if (delta === undefined) return [];
  const earlier = new Map(before.map((section) => [section.name, section]));
  const next = [...delta.set.map(({ after }) => after), ...delta.append];
  const now = new Map([...earlier, ...next.map((section) => [section.name, section] as const)]);
  for (const name of delta.remove) if (next.every((one) => one.name !== name)) now.delete(name);
  const touched = new Set([...delta.remove, ...delta.set.map((one) => one.before.name)]);
  // A proposal of ours may have users that are an administrator's, whose sections bear no stamp.
  const isEnding = (section: UciSection): boolean => {
    const { name, options } = section;
    if (!touched.has(name) && options['sdewan_made'] === undefined) return false;
    const after = now.get(name);
    return after === undefined || !sectionsEqual(ofTunnel(section, earlier), ofTunnel(after, now));
  };
  const ending = new Set(before.filter(isEnding).map(({ name }) => name));
  return tunnelsIn(before).filter((name) => ending.has(sectionOf(name)));
};

/**
 * Connections of this mode by names that are not among these. charon compares without names: it
 * does not start one that only has another name, nor those of a remote that only has another name
 * while the old one is up, and goes on catching packets for the old name, also when nothing has it
 * any more (seen with charon 5.9.8). Where it has begun one, it takes no second.
 */
export const beginningIn = (
  mode: 'start' | 'route',
  after: readonly UciSection[],
  before: ReadonlySet<string>,
): readonly string[] => {
  const asked = new Set(
    after.filter(({ options }) => options['startaction'] === mode).map(({ name }) => name),
  );
  return tunnelsIn(after).filter((name) => !before.has(name) && asked.has(sectionOf(name)));
};

const sectionOf = (tunnel: string): string => tunnel.slice(tunnel.lastIndexOf('/') + 1);

const tunnelsIn = (sections: readonly UciSection[]): readonly string[] =>
  sections
    .filter(({ type }) => type === 'remote')
    .flatMap((remote) => [
      remote.name,
      ...connectionsOf('swanctl', remote).map((connection) => `${remote.name}/${connection}`),
    ]);

/** Which remotes charon has not loaded. `told`: by the same; undefined: charon does not say. */
export const lackingTunnels = (ipsec: readonly UciSection[], told: string | undefined): Compared =>
  compareSections(ipsec, () => {
    const loaded = new Set(
      associationsIn(told ?? '')
        .filter(({ kind }) => kind === 'loaded')
        .map(({ name }) => name),
    );
    return (section) => {
      if (section.type !== 'remote' || section.options['enabled'] !== '1') return undefined;
      if (told === undefined) throw new Error('charon does not say what it has loaded');
      const lacking = tunnelsIn([section]).find((name) => !loaded.has(name));
      return lacking && `connection ${lacking} in charon`;
    };
  });

/** What is to end: all of these names from before the change. `before`: all names then. */
export type Ending = {
  names: ReadonlySet<string>;
  ids: ReadonlySet<string>;
  before: ReadonlySet<string>;
};

/** Undefined: charon does not say. @throws OpenwrtError */
export const endingOf = async (
  session: UbusSession,
  names: ReadonlySet<string>,
  before: readonly UciSection[],
  signal: AbortSignal,
): Promise<Ending | undefined> => {
  const up = await associationsOf(session, names, signal);
  // What catches packets for a name that stays is charon's own affair.
  const ids = new Set(up?.filter(({ kind }) => kind !== 'trap').map(lineOf));
  return up && { names, ids, before: new Set(tunnelsIn(before)) };
};

/**
 * `after`: the package as it is now. What it does not have any more ends also where it has come up,
 * or was renewed, meanwhile. False: charon does not say whether it has ended.
 * @throws OpenwrtError when one is still there, or OpenWRT is not reached
 */
export const endTunnels = async (
  session: UbusSession,
  { names, ids, before }: Ending,
  after: readonly UciSection[],
  signal: AbortSignal,
): Promise<boolean> => {
  if (names.size === 0) return true;
  const there = new Set(tunnelsIn(after));
  const left = async (): Promise<readonly Association[] | undefined> =>
    (await associationsOf(session, names, signal))?.filter(
      (one) => ids.has(lineOf(one)) || !there.has(one.name),
    );
  const ending = await left();
  if (ending === undefined) return false;
  const lines = [
    ...beginningIn('route', after, before).map((name) => `install ${words(name)}`),
    ...beginningIn('start', after, before).map((name) => `start ${words(name)}`),
    ...ending.map(lineOf),
  ];
  if (lines.length === 0) return true;
  const text = lines.map((line) => `${line}\n`).join('');
  await runVerbOn(session, { [TUNNELS_FILE]: text }, 'end-tunnels', signal);
  const stuck = await left();
  if (stuck === undefined || stuck.length === 0) return stuck !== undefined;
  const still = stuck.map(({ name }) => name).join(', ');
  throw new OpenwrtError('end tunnels of IPsec', `charon still has ${still}`);
};

const words = (tunnel: string): string => tunnel.replace('/', ' ');

const lineOf = ({ kind, id, name }: Association): string =>
  kind === 'trap' ? `uninstall ${words(name)}` : `${kind} ${id}`;

/** Those of these names; undefined where charon runs and does not say. @throws OpenwrtError */
const associationsOf = async (
  session: UbusSession,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly Association[] | undefined> => {
  if (names.size === 0) return [];
  const told = await runVerb(session, 'tunnels', signal);
  if ('whyNot' in told) return undefined;
  const isUp = ({ kind }: Association): boolean => kind !== 'loaded';
  return associationsIn(told.stdout).filter((one) => isUp(one) && names.has(one.name));
};
