/**
 * Reads whole packages as they are in /etc/config, unseen by the limits of rpcd: small ones by `file.read`, larger ones in
 * blocks by `dd`. Never through `uci get`: it shows what our own session has staged, and dies of large packages.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { parseFile, UciSyntaxError } from '#shared/uci/parse.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import {
  ACCESS_DENIED,
  UBUS_STATUS,
  UbusError,
  type UbusAnswer,
  type UbusCall,
} from '../client/rpc.ts';
import { checked, type UbusSession } from '../client/session.ts';
import type { PackageState } from '../write/write-path.ts';

/** `file.read` and the output of `file.exec` fail from 256 KiB (measured); the rights name this block size. */
const BLOCK_BYTES = 131_072;
/** Two digits are what the rights allow for `skip=`: 12.5 MiB, some 70,000 rules. */
const MAX_BLOCKS = 100;
const READ_ATTEMPTS = 3;
const TOO_LARGE = 8;

const pathOf = (name: string): string => `/etc/config/${name}`;
const md5Schema = z.object({ md5: z.string() });
const readSchema = z.object({ data: z.string().default('') });
const execSchema = z.object({ stdout: z.string().default('') });

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

/** Per package its md5; 'absent' when OpenWRT has no such package, 'refused' when the login may not read it. */
export const md5sOf = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> => {
  const calls = packages.map(md5Call);
  const answers = await session.attempt(calls, { signal });
  return new Map(packages.map((name, at) => [name, md5Of(md5Call(name), answers[at])]));
};

/** @throws UbusError with ACCESS_DENIED when the session has ended. */
const md5Of = (call: UbusCall, answer: UbusAnswer | undefined): string => {
  if (answer?.code === UBUS_STATUS.notFound) return 'absent';
  if (answer?.code === UBUS_STATUS.permissionDenied) return 'refused';
  return checked(call, answer, md5Schema).md5;
};

/** The packages, each of one moment. @throws OpenwrtError, OpenwrtBlockedError when a package keeps changing under us. */
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
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
    const md5 = md5Of(md5Call(name), md5Answer);
    if (md5 === 'absent') return { state: 'absent' };
    if (md5 === 'refused') {
      return { state: 'unusable', version: md5, why: 'the login on OpenWRT may not read it' };
    }
    const bytes =
      readAnswer?.code === TOO_LARGE
        ? await readBlocks(session, name, signal)
        : bytesOf(textIn(name, readAnswer));
    if (createHash('md5').update(bytes).digest('hex') === md5) return parse(name, md5, bytes);
    const calls = [md5Call(name), readCall(name)];
    [md5Answer, readAnswer] = await session.attempt(calls, { signal, bytes: true });
  }
  throw new OpenwrtBlockedError(`read ${pathOf(name)}`, 'it keeps changing while it is read');
};

/** Of an empty file there is no data; whether that is one, its md5 tells. */
const textIn = (name: string, answer: UbusAnswer | undefined): string =>
  answer?.code === UBUS_STATUS.noData ? '' : checked(readCall(name), answer, readSchema).data;

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

const readBlocks = async (
  session: UbusSession,
  name: string,
  signal: AbortSignal,
): Promise<Buffer> => {
  const blocks: Buffer[] = [];
  while (blocks.length < MAX_BLOCKS) {
    const block = await readBlock(session, name, blocks.length, signal);
    blocks.push(block);
    if (block.length < BLOCK_BYTES) return Buffer.concat(blocks);
  }
  throw new OpenwrtError(`read ${pathOf(name)}`, `over ${MAX_BLOCKS * BLOCK_BYTES} bytes`);
};

/** The rights name a command by its absolute path, and images differ in where `dd` is. */
export const DD_PATHS = ['/bin/dd', '/usr/bin/dd'];

const readBlock = async (
  session: UbusSession,
  name: string,
  skip: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const params = [`if=${pathOf(name)}`, `bs=${BLOCK_BYTES}`, 'count=1', `skip=${skip}`];
  const calls = DD_PATHS.map((command) => ({
    object: 'file',
    method: 'exec',
    args: { command, params },
  }));
  for (const call of calls) {
    const [answer] = await session.attempt([call], { signal, bytes: true });
    // stdout is absent past the end of the file.
    if (answer?.code === 0) return bytesOf(checked(call, answer, execSchema).stdout);
    if (answer?.code === ACCESS_DENIED) throw new UbusError(call, answer.code);
  }
  throw new OpenwrtError(`read ${pathOf(name)}`, 'the login on OpenWRT may not run dd on it');
};

/** Blocks are cut anywhere, also within a character: one JavaScript character stands for one byte here. */
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');
