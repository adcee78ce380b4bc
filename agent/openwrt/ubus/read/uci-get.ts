/**
 * Reads packages by `uci get`, for logins that may not read files. It shows what the session itself
 * has staged, so it is asked only when that is nothing. Sizes and times of the files, where they
 * may be listed, tell when there is nothing new to read.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { recordOf } from '#shared/util/untrusted.ts';
import { UBUS_STATUS, type UbusAnswer, type UbusCall } from '../client/rpc.ts';
import { checked, codeOf, type UbusSession } from '../login/session.ts';
import { mayNotRead, type PackageState } from './packages.ts';

/**
 * An answer over 1 MiB kills rpcd (measured: 3,600 rules of some 180 bytes pass, 4,000 do not). As
 * a ubus message, sections take up to twice their text.
 */
export const MAX_PACKAGE_BYTES = 600_000;
export const CONFIG_DIRECTORY = '/etc/config';
/** A file's time is in seconds: one that is younger can change again and look the same. */
const SETTLED_MS = 2_000;
const READ_TIMEOUT_MS = 20_000;

export type UciReader = {
  /**
   * Size and times of each file, unseen of what is staged.
   * @throws OpenwrtError for a login without the right to list them
   */
  looks: (
    session: UbusSession,
    packages: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string>>;
  versions: (
    session: UbusSession,
    packages: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string>>;
  read: (
    session: UbusSession,
    packages: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, PackageState>>;
};

export type UciReaderDeps = {
  mayListFiles: boolean;
  now: () => number;
};

const fileSchema = z.object({
  name: z.string(),
  size: z.number(),
  mtime: z.number(),
  inode: z.number().optional(),
});
type File = z.infer<typeof fileSchema>;
/** `at`: when it was asked for. `files` is undefined for a login that may not ask. */
type Listing = { at: number; files: ReadonlyMap<string, File> | undefined };
const listSchema = z.object({ entries: z.array(fileSchema) });
const LIST: UbusCall = { object: 'file', method: 'list', args: { path: CONFIG_DIRECTORY } };

export const createUciReader = ({ mayListFiles, now }: UciReaderDeps): UciReader => {
  /** What a file looked like when its package was read, and what was read. */
  const known = new Map<string, { look: string; version: string }>();

  const list = async (session: UbusSession, signal: AbortSignal): Promise<Listing> => {
    const at = now();
    if (!mayListFiles) return { at, files: undefined };
    const { entries } = await session.call(LIST, listSchema, { signal });
    return { at, files: new Map(entries.map((file) => [file.name, file])) };
  };

  const readListed = async (
    session: UbusSession,
    packages: readonly string[],
    { at, files }: Listing,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PackageState>> => {
    const states = new Map<string, PackageState>();
    for (const name of packages) {
      const file = files?.get(name);
      const state =
        file !== undefined && file.size > MAX_PACKAGE_BYTES
          ? tooLarge(file)
          : await getPackage(session, name, signal);
      if (file !== undefined && at - file.mtime * 1_000 >= SETTLED_MS) {
        known.set(name, { look: lookOf(file), version: versionOf(state) });
      } else known.delete(name);
      states.set(name, state);
    }
    return states;
  };

  return {
    looks: async (session, packages, signal) => {
      const { entries } = await session.call(LIST, listSchema, { signal });
      return new Map(
        entries
          .filter(({ name }) => packages.includes(name))
          .map((file) => [file.name, lookOf(file)]),
      );
    },
    versions: async (session, packages, signal) => {
      const listing = await list(session, signal);
      const unchanged = new Map(
        packages.flatMap((name) => {
          const [file, before] = [listing.files?.get(name), known.get(name)];
          return file !== undefined && before?.look === lookOf(file)
            ? [[name, before.version] as const]
            : [];
        }),
      );
      const others = packages.filter((name) => !unchanged.has(name));
      const read = await readListed(session, others, listing, signal);
      return new Map([
        ...unchanged,
        ...[...read].map(([name, state]) => [name, versionOf(state)] as const),
      ]);
    },
    read: async (session, packages, signal) =>
      // The list first: what changes after it will look changed.
      readListed(session, packages, await list(session, signal), signal),
  };
};

const lookOf = ({ size, mtime, inode }: File): string => [size, mtime, inode].join('/');

const versionOf = (state: PackageState): string =>
  state.state === 'absent' ? 'absent' : state.version;

const tooLarge = ({ size }: File): PackageState => ({
  state: 'unusable',
  version: `${size} bytes`,
  why: `it has ${size} bytes, and a login without file rights cannot read more than ${MAX_PACKAGE_BYTES}`,
});

const EXPECTED: ReadonlySet<number> = new Set([
  0,
  UBUS_STATUS.notFound,
  UBUS_STATUS.permissionDenied,
]);

const getPackage = async (
  session: UbusSession,
  name: string,
  signal: AbortSignal,
): Promise<PackageState> => {
  const call = { object: 'uci', method: 'get', args: { config: name } };
  const ask = async (): Promise<UbusAnswer | undefined> =>
    (await session.attempt([call], { signal, timeoutMs: READ_TIMEOUT_MS }))[0];
  let answer = await ask();
  // A syntax error stays; whatever else it was may be over.
  if (!EXPECTED.has(codeOf(call, answer))) answer = await ask();
  const code = codeOf(call, answer);
  if (code === UBUS_STATUS.notFound) return { state: 'absent' };
  if (code === UBUS_STATUS.permissionDenied) {
    return { state: 'unusable', version: 'refused', why: mayNotRead(name) };
  }
  if (code === UBUS_STATUS.unknownError) {
    const why = `${CONFIG_DIRECTORY}/${name} does not parse`;
    return { state: 'unusable', version: 'unreadable', why };
  }
  if (code !== 0) {
    const why = `OpenWRT answers code ${code} when package ${name} is read`;
    return { state: 'unusable', version: `code ${code}`, why, passes: true };
  }
  return readState(name, call, answer);
};

const readState = (name: string, call: UbusCall, answer: UbusAnswer | undefined): PackageState => {
  const { values } = checked(call, answer, packageSchema);
  const content: UciPackage = {
    name,
    sections: Object.values(values)
      .sort((a, b) => a['.index'] - b['.index'])
      .map(sectionOf),
  };
  const version = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return { state: 'read', version, content };
};

const valueSchema = z.union([z.string(), z.array(z.string())]);
const packageSchema = z.object({
  values: recordOf(
    z
      .object({
        '.name': z.string(),
        '.type': z.string(),
        '.anonymous': z.boolean(),
        '.index': z.int(),
      })
      .catchall(valueSchema),
  ),
});
type Dumped = z.infer<typeof packageSchema>['values'][string];

const sectionOf = ({
  '.name': name,
  '.type': type,
  '.anonymous': anonymous,
  '.index': _index,
  ...options
}: Dumped): UciSection => ({
  name,
  type,
  anonymous,
  options,
});
