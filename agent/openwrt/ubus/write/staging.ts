/**
 * The calls of both ways to write: puts changes into a session's staging area on rpcd, takes them
 * out again, applies and confirms them. `importPackage` writes /etc/config itself, and runs only
 * under a pending apply, whose rollback undoes it.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { formatDeltaFile, formatPackage, formatRenames } from '#shared/uci/format.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError, type UciRename } from '../../driver.ts';
import {
  ACCESS_DENIED,
  MAX_BODY_BYTES,
  UBUS_STATUS,
  UbusError,
  type UbusCall,
} from '../client/rpc.ts';
import { md5sOf, type Base } from '../read/packages.ts';
import type { UbusSession } from '../login/session.ts';

/** Text of one `file.write` as JSON, or of few calls; the rest of 64 KiB is the envelope. */
export const PART_BYTES = 49_152;
/** Replaced by the delta file before anything is applied; only makes rpcd create the folder. */
export const SEED_SECTION = 'sdewan_seed';
export const OWNER_ONLY = 0o600;
export const UCI_PATHS = ['/sbin/uci', '/usr/bin/uci', '/usr/sbin/uci'];
/** Where rpcd keeps what a session has staged for a package. */
export const stagingFileOf = ({ id }: Pick<UbusSession, 'id'>, name: string): string =>
  `/var/run/rpcd/uci-${id}/${name}`;
/** Where a whole package lies while it is imported. It holds every key of the package. */
export const importFileOf = (name: string): string => `/tmp/sdewan-${name}`;
const execSchema = z.object({ code: z.int(), stderr: z.string().default('') });
const nothing = z.unknown();
const removalOf = (name: string): UbusCall => ({
  object: 'file',
  method: 'remove',
  args: { path: importFileOf(name) },
});

const seedStaging = async (
  session: UbusSession,
  config: string,
  signal: AbortSignal,
): Promise<void> => {
  const args = { config, type: 'sdewan', name: SEED_SECTION };
  await session.call({ object: 'uci', method: 'add', args }, nothing, { signal });
};

/** Stages all of one delta, replacing what the session had staged for it. @throws OpenwrtError */
export const stageDelta = async (
  session: UbusSession,
  delta: UciDelta,
  signal: AbortSignal,
): Promise<void> => {
  const { package: config } = delta;
  await seedStaging(session, config, signal);
  const path = stagingFileOf(session, config);
  await stageFile(session, { path, text: formatDeltaFile(delta) }, signal);
};

/** The same for names that sections of one package are to get. @throws OpenwrtError */
export const stageNames = async (
  session: UbusSession,
  config: string,
  renames: readonly UciRename[],
  signal: AbortSignal,
): Promise<void> => {
  await seedStaging(session, config, signal);
  const path = stagingFileOf(session, config);
  await stageFile(session, { path, text: formatRenames(renames) }, signal);
};

/**
 * Forgets what the session has staged, and removes what an import left that did not come to its
 * end. False when an apply that is pending forbids the former.
 */
export const unstage = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  const reverts = packages.map((config) => ({ object: 'uci', method: 'revert', args: { config } }));
  const calls = [...reverts, ...packages.map(removalOf)];
  const answers = await session.attempt(calls, { signal });
  return answers
    .slice(0, reverts.length)
    .every(({ code }) => code !== UBUS_STATUS.permissionDenied);
};

/**
 * `refused`: the login has no right to. `changed`: another writer has changed the package, which an
 * import would undo.
 */
export type ImportOutcome = 'done' | 'refused' | 'changed';

/** Replaces a whole package that is still of that version. @throws OpenwrtError */
export const importPackage = async (
  session: UbusSession,
  wanted: Base,
  signal: AbortSignal,
): Promise<ImportOutcome> => {
  const { name } = wanted.content;
  // A mode is given to new files only.
  await removeImportFile(session, name, signal);
  try {
    return await importFromFile(session, wanted, signal);
  } finally {
    await removeImportFile(session, name, signal);
  }
};

/** @throws OpenwrtError */
const removeImportFile = async (
  session: UbusSession,
  name: string,
  signal: AbortSignal,
): Promise<void> => {
  const call = removalOf(name);
  const [answer] = await session.attempt([call], { signal });
  const code = answer?.code ?? UBUS_STATUS.noData;
  if (code !== 0 && code !== UBUS_STATUS.notFound) throw new UbusError(call, code);
};

const importFromFile = async (
  session: UbusSession,
  { version, content }: Base,
  signal: AbortSignal,
): Promise<ImportOutcome> => {
  const path = importFileOf(content.name);
  const text = formatPackage(content);
  const md5Call = { object: 'file', method: 'md5', args: { path } };
  try {
    await stageFile(session, { path, text, mode: OWNER_ONLY }, signal);
    const { md5 } = await session.call(md5Call, z.object({ md5: z.string() }), { signal });
    if (md5 !== createHash('md5').update(text).digest('hex')) {
      // An empty or cut file would be imported with code 0 and wipe the package (measured).
      throw new OpenwrtError(`write ${path}`, 'OpenWRT did not store what was sent');
    }
  } catch (error) {
    if (isRefusal(error)) return 'refused';
    throw error;
  }
  const now = await md5sOf(session, [content.name], signal);
  if (now.get(content.name) !== version) return 'changed';
  for (const command of UCI_PATHS) {
    const params = ['-f', path, 'import', content.name];
    const call = { object: 'file', method: 'exec', args: { command, params } };
    const [answer] = await session.attempt([call], { signal });
    if (answer?.code === ACCESS_DENIED) throw new UbusError(call, answer.code);
    if (answer?.code !== 0) continue;
    const { code, stderr } = execSchema.parse(answer.data);
    if (code !== 0) throw new OpenwrtError(`import ${content.name}`, stderr.trim());
    return 'done';
  }
  return 'refused';
};

/** @throws OpenwrtBlockedError while another session's apply waits for its confirmation */
export const applyStaged = async (
  session: UbusSession,
  timeouts: { rollbackSeconds: number; callMs: number },
  signal: AbortSignal,
): Promise<void> => {
  const args = { rollback: true, timeout: timeouts.rollbackSeconds };
  const call: UbusCall = { object: 'uci', method: 'apply', args };
  try {
    await session.call(call, nothing, { signal, timeoutMs: timeouts.callMs });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new OpenwrtBlockedError('uci apply', 'the apply of another session is pending', error);
  }
};

const isRefusal = (error: unknown): boolean =>
  error instanceof UbusError && error.code === UBUS_STATUS.permissionDenied;

/** rpcd answers 9 to a file that it cannot write as a whole (measured). */
export const NO_SPACE = 'there may be no space left in /tmp of OpenWRT';

type FileToWrite = { path: string; text: string; mode?: number | undefined };

/** Not at once: a reader may find a beginning meanwhile. @throws OpenwrtError */
export const writeFile = async (
  session: UbusSession,
  { path, text, mode }: FileToWrite,
  signal: AbortSignal,
): Promise<void> => {
  for (const [at, data] of splitForJson(text, PART_BYTES).entries()) {
    const call = writeCall({ path, text: data, mode }, { append: at > 0 });
    await session.call(call, nothing, { signal });
  }
};

/** Below /tmp. @throws OpenwrtError */
const stageFile = async (
  session: UbusSession,
  file: FileToWrite,
  signal: AbortSignal,
): Promise<void> => {
  try {
    await writeFile(session, file, signal);
  } catch (error) {
    const mayBeFull = error instanceof UbusError && error.code === UBUS_STATUS.unknownError;
    throw mayBeFull ? new OpenwrtBlockedError(`write ${file.path}`, NO_SPACE, error) : error;
  }
};

/** One `file.write` of a text that is short enough for one. */
export const writeCall = (
  { path, text, mode }: FileToWrite,
  { append } = { append: false },
): UbusCall => ({
  object: 'file',
  method: 'write',
  args: { path, data: text, append, ...(mode !== undefined && { mode }) },
});

/** Parts that are at most `maxBytes` long as JSON, cut between characters; at least one. */
export const splitForJson = (text: string, maxBytes: number = MAX_BODY_BYTES): string[] => {
  const parts: string[] = [];
  let part = '';
  let size = 0;
  for (const piece of text.split(/(?<=\n)/).flatMap((line) => cut(line, maxBytes))) {
    const bytes = jsonBytes(piece);
    if (size + bytes > maxBytes) {
      parts.push(part);
      part = '';
      size = 0;
    }
    part += piece;
    size += bytes;
  }
  return [...parts, part];
};

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

/** A character takes six bytes at most in JSON. */
const cut = (line: string, maxBytes: number): string[] => {
  if (jsonBytes(line) <= maxBytes) return [line];
  const size = Math.floor(maxBytes / 12);
  const characters = Array.from(line);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += size) {
    pieces.push(characters.slice(at, at + size).join(''));
  }
  return pieces;
};
