/**
 * Calls for files of ours over ubus. Others' files are never looked at: only our names are read,
 * written and removed, and the rights on OpenWRT name no others. What is written is read back by
 * its md5.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { OWN_FILES, fileSection } from '#shared/resources/device-files.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { OpenwrtError } from '../driver.ts';
import {
  ACCESS_DENIED,
  UBUS_STATUS,
  UbusError,
  type UbusAnswer,
  type UbusCall,
} from '../ubus/client/rpc.ts';
import { checked, type UbusSession } from '../ubus/login/session.ts';
import { OWNER_ONLY, writeFile } from '../ubus/write/staging.ts';

/** Requests and answers have limits, and a CNF can have a thousand tunnels. */
const CALLS_PER_REQUEST = 50;

const listSchema = z.object({ entries: z.array(z.object({ name: z.string(), type: z.string() })) });
const readSchema = z.object({ data: z.string() });
const md5Schema = z.object({ md5: z.string() });

/** By path. @throws OpenwrtError */
export const readFiles = async (
  session: UbusSession,
  folders: readonly string[],
  signal: AbortSignal,
): Promise<readonly UciSection[]> => {
  const calls = folders.map((path) => on('list', path));
  const lists = await attempt(session, calls, signal);
  const paths = folders.flatMap((folder, at) => {
    const { entries } = checked(on('list', folder), lists[at], listSchema);
    return entries.filter(isOurs).map(({ name }) => `${folder}/${name}`);
  });
  const texts = await attempt(
    session,
    paths.map((path) => on('read', path)),
    signal,
  );
  // A file that cannot be read whole is not one that we wrote; the next look notices a file that
  // has gone meanwhile.
  return paths
    .map((path, at) =>
      fileSection(path, parseUntrusted(readSchema, texts[at]?.data).data?.data ?? ''),
    )
    .toSorted(byName);
};

/** Pattern of rpcd's rights. */
export const ownFilesIn = (folder: string): string =>
  `${folder}/${OWN_FILES.prefix}*${OWN_FILES.suffix}`;

const isOurs = ({ name, type }: { name: string; type: string }): boolean =>
  type === 'file' && name.startsWith(OWN_FILES.prefix) && name.endsWith(OWN_FILES.suffix);

/** Changes when any of these files does, or when it is gone. @throws OpenwrtError */
export const versionOfFiles = async (
  session: UbusSession,
  { sections }: UciPackage,
  signal: AbortSignal,
): Promise<string> => composeVersion(await md5sOf(session, sections, signal));

/** What `versionOfFiles` gives while the files are these. */
export const versionOf = ({ sections }: UciPackage): string => composeVersion(sections.map(md5Of));

const composeVersion = (md5s: readonly string[]): string =>
  createHash('md5').update(md5s.join('/')).digest('hex');

const md5Of = (file: UciSection): string =>
  createHash('md5').update(contentOf(file), 'latin1').digest('hex');

export const contentOf = ({ options: { content } }: UciSection): string =>
  typeof content === 'string' ? content : '';

const md5sOf = async (
  session: UbusSession,
  sections: readonly UciSection[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const calls = sections.map(({ name }) => on('md5', name));
  const answers = await attempt(session, calls, signal);
  return answers.map(({ data }) => parseUntrusted(md5Schema, data).data?.md5 ?? '');
};

/**
 * The first file that OpenWRT does not take and why; undefined when all are there. @throws
 * OpenwrtError when OpenWRT is not reached
 */
export const writeFiles = async (
  session: UbusSession,
  files: readonly UciSection[],
  signal: AbortSignal,
): Promise<{ name: string; message: string } | undefined> => {
  for (const file of files) {
    const { name: path } = file;
    // A mode is given to new files only.
    await removeFiles(session, [path], signal);
    try {
      await writeFile(session, { path, text: contentOf(file), mode: OWNER_ONLY }, signal);
    } catch (error) {
      if (!(error instanceof UbusError) || error.code < 0) throw error;
      return { name: path, message: error.message };
    }
  }
  const md5s = await md5sOf(session, files, signal);
  const lost = files.find((file, at) => md5s[at] !== md5Of(file));
  return lost && { name: lost.name, message: 'OpenWRT did not store the file as it was sent' };
};

/** @throws OpenwrtError */
export const removeFiles = async (
  session: UbusSession,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  const calls = paths.map((path) => on('remove', path));
  const answers = await attempt(session, calls, signal);
  for (const [at, call] of calls.entries()) {
    const code = answers[at]?.code ?? UBUS_STATUS.noData;
    if (code !== 0 && code !== UBUS_STATUS.notFound) throw new UbusError(call, code);
  }
};

const on = (method: 'list' | 'read' | 'md5' | 'remove', path: string): UbusCall => ({
  object: 'file',
  method,
  args: { path },
});

const attempt = async (
  session: UbusSession,
  calls: readonly UbusCall[],
  signal: AbortSignal,
): Promise<readonly UbusAnswer[]> => {
  const answers: UbusAnswer[] = [];
  for (let at = 0; at < calls.length; at += CALLS_PER_REQUEST) {
    const some = calls.slice(at, at + CALLS_PER_REQUEST);
    const more = await session.attempt(some, { signal, bytes: true });
    const ended = more.findIndex(({ code }) => code === ACCESS_DENIED);
    const call = some[ended];
    if (call) throw new UbusError(call, ACCESS_DENIED);
    answers.push(...more);
  }
  if (answers.length !== calls.length)
    throw new OpenwrtError('read or write files', 'OpenWRT did not answer each call');
  return answers;
};

const byName = (a: UciSection, b: UciSection): number => (a.name < b.name ? -1 : 1);
