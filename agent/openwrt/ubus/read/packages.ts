/**
 * Reads whole packages as they are in /etc/config, within the limits of rpcd: small ones by
 * `file.read`, larger ones in blocks by `dd`. Never through `uci get`: it shows what our own
 * session has staged, and fails on large packages. One that cannot be read is unusable, with the
 * reason, and affects no other.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { UciPackage } from '#shared/uci/model.ts';
import { parseFile, UciSyntaxError } from '#shared/uci/parse.ts';
import { UBUS_STATUS, type UbusAnswer, type UbusCall } from '../client/rpc.ts';
import { checked, codeOf, type UbusSession } from '../login/session.ts';
import { bytesOf, readBlocks } from './blocks.ts';

/**
 * `version`: differs when the contents do. `hasComments`: absent where a file's text is not seen.
 * `passes`: the problem may be over at the next look, so the version is none that a package can
 * have.
 */
export type PackageState =
  | { state: 'read'; version: string; content: UciPackage; hasComments?: boolean }
  | { state: 'absent' }
  | { state: 'unusable'; version: string; why: string; passes?: true };

/** Why such a package is unusable. */
export const mayNotRead = (name: string): string =>
  `the login on OpenWRT may not read /etc/config/${name}`;

/** What a package was when the deltas were made. */
export type Base = { version: string; content: UciPackage };

const READ_ATTEMPTS = 3;
/** A file from 256 KiB on, or none at all that could be read. */
const TOO_LARGE = 8;

const pathOf = (name: string): string => `/etc/config/${name}`;
const md5Schema = z.object({ md5: z.string() });
const readSchema = z.object({ data: z.string().default('') });

const md5Call = (name: string): UbusCall => ({
  object: 'file',
  method: 'md5',
  args: { path: pathOf(name) },
});
const readCall = (name: string): UbusCall => ({
  object: 'file',
  method: 'read',
  args: { path: pathOf(name) },
});

/**
 * Per package its md5; 'absent' when OpenWRT has no such package, 'refused' when the login may not
 * read it, and something else that no md5 is for one that cannot be read.
 */
export const md5sOf = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> => {
  const answers = await session.attempt(packages.map(md5Call), { signal });
  const without = packages.filter((_, at) => answers[at]?.code !== 0);
  const reads =
    without.length === 0 ? [] : await session.attempt(without.map(readCall), { signal });
  return new Map(
    packages.map((name, at) => [
      name,
      md5In(name, answers[at]) ?? versionOf(withoutMd5(name, reads[without.indexOf(name)])),
    ]),
  );
};

/** Undefined when there is none. @throws UbusError with ACCESS_DENIED when the session has ended */
const md5In = (name: string, answer: UbusAnswer | undefined): string | undefined =>
  codeOf(md5Call(name), answer) === 0 ? checked(md5Call(name), answer, md5Schema).md5 : undefined;

/**
 * Asked for the md5 of a file of 0 bytes, rpcd answers with whatever error it had last, of any
 * file: 4, 6 and 9 were measured. So reading the file tells what it is.
 */
const withoutMd5 = (name: string, read: UbusAnswer | undefined): PackageState => {
  const code = codeOf(readCall(name), read);
  if (code === UBUS_STATUS.noData) return parse(name, EMPTY_MD5, Buffer.alloc(0));
  if (code === UBUS_STATUS.notFound) return { state: 'absent' };
  if (code === UBUS_STATUS.permissionDenied) {
    return { state: 'unusable', version: 'refused', why: mayNotRead(name) };
  }
  return code === 0 ? CHANGING : failing(name, code);
};

const EMPTY_MD5 = createHash('md5').digest('hex');

const CHANGING: PackageState = {
  state: 'unusable',
  version: 'changing',
  why: 'it keeps changing while it is read',
  passes: true,
};

const failing = (name: string, code: number): PackageState => ({
  state: 'unusable',
  version: `code ${code}`,
  why: `OpenWRT answers code ${code} when ${pathOf(name)} is read`,
  passes: true,
});

/** The packages, each of one moment. @throws OpenwrtError */
export const readPackages = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PackageState>> => {
  const calls = packages.flatMap((name) => [md5Call(name), readCall(name)]);
  const answers = await session.attempt(calls, { signal, bytes: true });
  const states = new Map<string, PackageState>();
  for (const [at, name] of packages.entries()) {
    const first = { md5: answers[2 * at], read: answers[2 * at + 1] };
    states.set(name, await readPackage(session, name, first, signal));
  }
  return states;
};

type FirstAnswers = { md5: UbusAnswer | undefined; read: UbusAnswer | undefined };

const readPackage = async (
  session: UbusSession,
  name: string,
  first: FirstAnswers,
  signal: AbortSignal,
): Promise<PackageState> => {
  let { md5: md5Answer, read: readAnswer } = first;
  let state: PackageState = CHANGING;
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
    const md5 = md5In(name, md5Answer);
    state =
      md5 === undefined
        ? withoutMd5(name, readAnswer)
        : await readWith({ name, md5 }, { session, readAnswer, signal });
    if (state.state !== 'unusable' || state.passes !== true) return state;
    const calls = [md5Call(name), readCall(name)];
    [md5Answer, readAnswer] = await session.attempt(calls, { signal, bytes: true });
  }
  return state;
};

const readWith = async (
  { name, md5 }: { name: string; md5: string },
  from: { session: UbusSession; readAnswer: UbusAnswer | undefined; signal: AbortSignal },
): Promise<PackageState> => {
  const { session, readAnswer, signal } = from;
  const code = codeOf(readCall(name), readAnswer);
  if (code !== 0 && code !== TOO_LARGE) {
    // It has just come or gone, or was emptied: the next answer tells.
    return code === UBUS_STATUS.noData || code === UBUS_STATUS.notFound
      ? CHANGING
      : failing(name, code);
  }
  const bytes =
    code === TOO_LARGE
      ? await readBlocks(session, pathOf(name), signal)
      : bytesOf(checked(readCall(name), readAnswer, readSchema).data);
  if (!Buffer.isBuffer(bytes)) return { state: 'unusable', version: md5, ...bytes };
  const isWhole = createHash('md5').update(bytes).digest('hex') === md5;
  return isWhole ? parse(name, md5, bytes) : CHANGING;
};

const versionOf = (state: PackageState): string =>
  state.state === 'absent' ? 'absent' : state.version;

const parse = (name: string, md5: string, bytes: Buffer): PackageState => {
  try {
    return { state: 'read', version: md5, ...parseFile(name, bytes.toString('utf8')) };
  } catch (error) {
    if (!(error instanceof UciSyntaxError)) throw error;
    return {
      state: 'unusable',
      version: md5,
      why: `${pathOf(name)} does not parse: ${error.message}`,
    };
  }
};
