/**
 * Our files, in the folders that services read. New and changed ones come before the sections that
 * refer to them, since swanctl's script refuses its whole configuration for one that is not there;
 * files of no more use go when the change is permanent, and the service is reloaded once more,
 * since it keeps what it has loaded. A crash leaves files that no section refers to, or that one
 * still does: the next pass sees either.
 */
import { CERTIFICATE_FOLDERS } from '#shared/resources/rules/ipsec-certificates.ts';
import type { Capabilities } from '#shared/resources/capabilities.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import { applyDelta, sectionsEqual, type DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { UbusError } from '../ubus/client/rpc.ts';
import { granted } from '../ubus/login/grants.ts';
import type { PackageState } from '../ubus/read/packages.ts';
import {
  contentOf,
  ownFilesIn,
  readFiles,
  removeFiles,
  versionOf,
  versionOfFiles,
  writeFiles,
} from './file-calls.ts';
import { baseOf, type Change, type DeviceNow, type Part } from './part.ts';

type Place = {
  folder: string;
  /** The package whose sections refer to files there, and whose service reads them. */
  user: string;
  /** Whether this OpenWRT, and the login there, let files be written. */
  isOpen: (capabilities: Capabilities) => boolean;
};

const PLACES: readonly Place[] = (['classic', 'swanctl'] as const).flatMap((dialect) =>
  Object.values(CERTIFICATE_FOLDERS[dialect]).map((folder) => ({
    folder,
    user: 'ipsec',
    isOpen: ({ ipsec }) => ipsec.dialect === dialect && ipsec.noCertificates === undefined,
  })),
);
const FOLDERS = PLACES.map(({ folder }) => folder);
const { name: FILES } = deviceFiles;

/** Their order means nothing, so that none is written anew only because another comes or goes. */
const deltaOfFiles = ({ observed, desired, isOurs }: DeltaInput): UciDelta => {
  const there = new Map(observed.sections.map((file) => [file.name, file]));
  const wanted = new Set(desired.map(({ name }) => name));
  return {
    package: observed.name,
    remove: observed.sections
      .filter((file) => isOurs(file) && !wanted.has(file.name))
      .map(({ name }) => name),
    set: desired.flatMap((after) => {
      const before = there.get(after.name);
      return before === undefined || sectionsEqual(before, after) ? [] : [{ before, after }];
    }),
    append: desired.filter(({ name }) => !there.has(name)),
  };
};

export const files: Part = {
  holds: (name) => name === FILES,
  read: async (device, signal) => {
    try {
      return new Map([[FILES, await stateOf(device, signal)]]);
    } catch (error) {
      if (!(error instanceof UbusError) || error.code < 0) throw error;
      return unreadable(device, error);
    }
  },
  fingerprint: async ({ session, lastRead }, signal) => {
    const state = lastRead.get(FILES);
    if (state?.state !== 'read') return new Map();
    return new Map([[FILES, await versionOfFiles(session, state.content, signal)]]);
  },
  delta: deltaOfFiles,
  apply: async (change, others) => {
    const own = change.deltas.find(({ package: name }) => name === FILES);
    if (own === undefined) return others(change);
    const { session, path, lastRead, signal } = change;
    const before = baseOf(lastRead, FILES).content;
    const written = writtenBy(own);
    const refused = await writeFiles(session, written, signal);
    if (refused) {
      await putBack(change, own);
      return refusalOf(refused);
    }
    const result = await others({ ...change, deltas: withUsers(change, own) });
    if (result.outcome === 'rejected') {
      const restored = await putBack(change, own);
      for (const user of usersOf(restored)) {
        await path.reload(session, baseOf(lastRead, user).content, signal);
      }
      return result;
    }
    const kept = new Set(written.map(nameOf));
    const unused = own.remove.filter((name) => !kept.has(name));
    await removeFiles(session, unused, signal);
    for (const user of usersOf(unused)) {
      const state = result.states.get(user);
      if (state !== undefined) await path.reload(session, state.content, signal);
    }
    const content = applyDelta(before, own);
    const state = { version: versionOf(content), content };
    return { ...result, states: new Map([...result.states, [FILES, state]]) };
  },
  rights: () => ({
    read: { ubus: { file: ['list', 'read', 'md5'] }, file: granted(FOLDERS, ['list']) },
    write: {
      ubus: { file: ['write', 'remove'] },
      file: granted(FOLDERS.map(ownFilesIn), ['read', 'write']),
    },
  }),
};

const stateOf = async (
  { session, capabilities, lastRead }: DeviceNow,
  signal: AbortSignal,
): Promise<PackageState> => {
  const open = PLACES.filter(
    ({ user, isOpen }) => isOpen(capabilities) && lastRead.get(user)?.state === 'read',
  );
  if (open.length === 0) return { state: 'absent' };
  const folders = open.map(({ folder }) => folder);
  const content = { name: FILES, sections: await readFiles(session, folders, signal) };
  return { state: 'read', version: versionOf(content), content };
};

/** Without its files a package must not be written: swanctl's script refuses all of it. */
const unreadable = (
  { lastRead }: DeviceNow,
  { message }: UbusError,
): ReadonlyMap<string, PackageState> => {
  const why = `the files that it refers to cannot be read: ${message}`;
  const states = new Map<string, PackageState>();
  for (const user of new Set(PLACES.map((place) => place.user))) {
    const state = lastRead.get(user);
    if (state?.state === 'read')
      states.set(user, { state: 'unusable', version: state.version, why });
  }
  return states.set(FILES, { state: 'unusable', version: 'unread', why, passes: true });
};

const refusalOf = ({ name, message }: { name: string; message: string }) =>
  ({ outcome: 'rejected', package: FILES, message, sections: [name] }) as const;

/** The packages whose services read these files. */
const usersOf = (paths: readonly string[]): ReadonlySet<string> =>
  new Set(
    PLACES.filter(({ folder }) => paths.some((path) => path.startsWith(`${folder}/`))).map(
      ({ user }) => user,
    ),
  );

/** The services that use the files are reloaded with them; all, if changed files are not known. */
const withUsers = ({ deltas, lastRead }: Change, own: UciDelta): readonly UciDelta[] => {
  const others = deltas.filter((delta) => delta !== own);
  const touched = [...own.remove, ...writtenBy(own).map(nameOf)];
  const users = touched.length > 0 ? usersOf(touched) : new Set(PLACES.map(({ user }) => user));
  const reloads = [...users]
    .filter((user) => others.every((delta) => delta.package !== user))
    .filter((user) => lastRead.get(user)?.state === 'read')
    .map((user): UciDelta => ({ package: user, remove: [], set: [], append: [] }));
  return [...others, ...reloads];
};

const writtenBy = ({ set, append }: UciDelta): readonly UciSection[] => [
  ...set.map(({ after }) => after),
  ...append,
];

/** Restores the old contents; returns the files that have them. The rest is for the next pass. */
const putBack = async (
  { session, signal }: Change,
  { set, append }: UciDelta,
): Promise<readonly string[]> => {
  const before = set.map((change) => change.before);
  const known = before.filter((file) => contentOf(file) !== '');
  const gone = [...append, ...before.filter((file) => !known.includes(file))];
  await removeFiles(session, gone.map(nameOf), signal);
  await writeFiles(session, known, signal);
  return known.map(nameOf);
};

const nameOf = ({ name }: UciSection): string => name;
