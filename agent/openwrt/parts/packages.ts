/** The UCI packages that rules go to, each with the service that takes it. */
import { isPackage } from '#shared/resources/parts.ts';
import { applyDelta, deltaOf, isEmptyDelta } from '#shared/uci/delta.ts';
import { whyNotReload } from '../services/services.ts';
import { readSettled, stateVersion } from '../ubus/read/settled.ts';
import { assertSpace } from '../ubus/write/space.ts';
import { runTransaction } from '../ubus/write/transaction.ts';
import type { PackageState } from '../ubus/read/packages.ts';
import { rightsOnPackages } from './package-rights.ts';
import { baseOf, type DeviceNow, type Part } from './part.ts';

export const packages: Part = {
  holds: isPackage,
  read: async (device, signal) => {
    const { session, path, packages: names, writable, lastRead, clock } = device;
    const known = new Map(names.map((name) => [name, stateVersion(lastRead.get(name))]));
    const unchanged = await unchangedIn(device, signal);
    const rest = names.filter((name) => !unchanged.has(name));
    if (rest.length === 0) return new Map();
    const states = await readSettled({ path, session, packages: rest, known, clock }, signal);
    return withoutTraps(states, writable);
  },
  fingerprint: ({ session, path, packages: names }, signal) =>
    path.versions(session, names, signal),
  delta: deltaOf,
  apply: async ({ path, lastRead, timing, space, ...change }) => {
    const { deltas } = change;
    const bases = new Map(
      deltas.map(({ package: name }) => [name, baseOf(lastRead, name)] as const),
    );
    const before = new Map([...bases].map(([name, { content }]) => [name, content]));
    const wanted = new Map(
      deltas.map((delta) => [
        delta.package,
        applyDelta(baseOf(lastRead, delta.package).content, delta),
      ]),
    );
    const changes = deltas.filter((delta) => !isEmptyDelta(delta));
    if (space !== undefined) assertSpace(space, { deltas: changes, before, after: wanted });
    const limits = timing.times.limitsFor([...wanted.values()]);
    return runTransaction(path, { ...change, bases, wanted, limits }, timing);
  },
  rights: rightsOnPackages,
};

/** Those that are still of the version that was read, where that costs less than to read them. */
const unchangedIn = async (
  { session, path, packages: names, writable, lastRead }: DeviceNow,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const read = names.filter((name) => writable.has(name) && lastRead.get(name)?.state === 'read');
  if (path.versionOf === undefined || read.length === 0) return new Set();
  const versions = await path.versions(session, read, signal);
  return new Set(read.filter((name) => versions.get(name) === stateVersion(lastRead.get(name))));
};

/** A package that cannot be written, or is dangerous to reload as it is, is left alone. */
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
