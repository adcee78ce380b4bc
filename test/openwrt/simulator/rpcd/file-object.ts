/**
 * The ubus object `file`: the device's files and programs, each access checked by path (and command
 * line for programs).
 */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  rmSync,
  statSync,
  type Stats,
} from 'node:fs';
import { readBytes, writeBytes } from '../bytes.ts';
import type { Cause } from '../journal.ts';
import type { ProgramResult, ProgramRunner } from '../programs/runner.ts';
import { stringsOf, type JsonObject } from '../json.ts';
import { canonicalPath, CONFIG_DIRECTORY, type DeviceRoot } from '../root.ts';
import type { UciStore } from '../uci/store.ts';
import type { UciWriter } from '../uci/writer.ts';
import {
  SESSION_ARGUMENT,
  STATUS,
  failed,
  ok,
  type Arguments,
  type BusObject,
  type Caller,
  type Method,
  type Reply,
  type Status,
} from './bus.ts';

/** rpcd's limit of a file that it reads and of what a program may print: 64 pages. */
export const MAX_FILE_BYTES = 64 * 4096;

export type FileObjectDeps = {
  root: DeviceRoot;
  store: UciStore;
  writer: UciWriter;
  programs: ProgramRunner;
  allows: (session: string, object: string, right: string) => boolean;
  causeOf: (session: string, call: string) => Cause;
};

type Access = { path: string; local: string; args: Arguments; caller: Caller };

const PATH = { path: 'string' } as const;

export const createFileObject = (deps: FileObjectDeps): BusObject => {
  /** What `errno` was left at: the md5 of a file of 0 bytes fails with it. */
  let stale: Status = STATUS.unknownError;
  const leavingErrno = (reply: Reply): Reply => {
    if (LEFT_IN_ERRNO.has(reply.status)) stale = reply.status;
    return reply;
  };
  const on = (
    right: 'read' | 'write' | 'list',
    types: Method['arguments'],
    answer: (access: Access) => Reply | Promise<Reply>,
  ): Method => ({
    arguments: { ...PATH, ...types, ...SESSION_ARGUMENT },
    call: async (args, caller) => {
      const given = args.text('path');
      if (given === undefined) return failed(STATUS.invalidArgument);
      if (given === '') return failed(STATUS.unknownError);
      const path = canonicalPath(given);
      if (!deps.allows(caller.session, path, right))
        return leavingErrno(failed(STATUS.permissionDenied));
      return leavingErrno(
        await answeringErrno(() => answer({ path, local: deps.root.path(path), args, caller })),
      );
    },
  });
  return {
    read: on('read', { base64: 'boolean' }, read),
    write: on(
      'write',
      { data: 'string', append: 'boolean', mode: 'integer', base64: 'boolean' },
      (access) => write(deps, access),
    ),
    list: on('list', {}, list),
    stat: on('list', {}, ({ path, local }) => ok({ path, ...describe(statSync(local)) })),
    lstat: on('list', {}, ({ path, local }) => ok({ path, ...describe(lstatSync(local)) })),
    md5: on('read', {}, ({ local }) => {
      const { size } = statSync(local);
      if (!statSync(local).isFile()) return failed(STATUS.notSupported);
      if (size === 0) return failed(stale);
      return ok({ md5: createHash('md5').update(readBytes(local), 'latin1').digest('hex') });
    }),
    remove: on('write', {}, (access) => remove(deps, access)),
    exec: {
      arguments: { command: 'string', params: 'array', env: 'object', ...SESSION_ARGUMENT },
      call: (args, caller) => exec(deps, args, caller),
    },
  };
};

const read = ({ local, args }: Access): Reply => {
  if (statSync(local).size >= MAX_FILE_BYTES && statSync(local).isFile())
    return failed(STATUS.notSupported);
  const data = readBytes(local);
  if (data === '') return failed(STATUS.noData);
  return ok({
    data: args.flag('base64') ? Buffer.from(data, 'latin1').toString('base64') : data,
  });
};

const write = async (
  deps: FileObjectDeps,
  { path, local, args, caller }: Access,
): Promise<Reply> => {
  const text = args.text('data');
  if (text === undefined) return failed(STATUS.invalidArgument);
  const data = args.flag('base64') ? Buffer.from(text, 'base64').toString('latin1') : text;
  const isNew = !existsSync(local);
  const packageName = packageOf(path);
  if (packageName !== undefined) {
    const before = args.flag('append') ? (deps.store.text(packageName) ?? '') : '';
    const by = deps.causeOf(caller.session, 'file write');
    await deps.writer.overwrite(packageName, before + data, by);
  } else if (args.flag('append')) appendFileSync(local, data, 'latin1');
  else writeBytes(local, data);
  // The device's umask does not count here.
  if (isNew) chmodSync(local, (args.integer('mode') ?? 0o666) & 0o7777);
  return ok();
};

const remove = (deps: FileObjectDeps, { path, local, caller }: Access): Reply => {
  const name = packageOf(path);
  if (lstatSync(local).isDirectory()) rmSync(local, { recursive: true });
  else if (name !== undefined) deps.store.remove(name, deps.causeOf(caller.session, 'file remove'));
  else rmSync(local);
  return ok();
};

const list = ({ local }: Access): Reply =>
  ok({
    entries: readdirSync(local).map((name) => ({
      name,
      ...describe(lstatSync(`${local}/${name}`)),
    })),
  });

const exec = async (deps: FileObjectDeps, args: Arguments, caller: Caller): Promise<Reply> => {
  const command = args.text('command');
  if (command === undefined) return failed(STATUS.invalidArgument);
  if (args.object('env')) return failed(STATUS.permissionDenied);
  const program = deps.programs.find(command);
  if (program === undefined) return failed(STATUS.notFound);
  const params = args.array('params') && stringsOf(args.array('params'));
  // The bare program, or the whole command line.
  const grants = [program, ...(params ? [[program, ...params].join(' ')] : [])];
  if (!grants.some((grant) => deps.allows(caller.session, grant, 'exec')))
    return failed(STATUS.permissionDenied);
  return resultOf(
    await deps.programs.run(program, params ?? [], deps.causeOf(caller.session, 'file exec')),
  );
};

const resultOf = (result: ProgramResult | 'timeout'): Reply => {
  if (result === 'timeout') return failed(STATUS.timeout);
  const { code, stdout, stderr } = result;
  if (stdout.length >= MAX_FILE_BYTES || stderr.length >= MAX_FILE_BYTES)
    return failed(STATUS.notSupported);
  return ok({ code, ...(stdout === '' ? {} : { stdout }), ...(stderr === '' ? {} : { stderr }) });
};

/** The UCI package that a path is the file of. */
const packageOf = (path: string): string | undefined =>
  path.startsWith(`${CONFIG_DIRECTORY}/`)
    ? /^[\w-]+$/.exec(path.slice(CONFIG_DIRECTORY.length + 1))?.[0]
    : undefined;

const describe = (stats: Stats): JsonObject => ({
  type: typeOf(stats),
  size: stats.size,
  mode: stats.mode,
  atime: Math.floor(stats.atimeMs / 1000),
  mtime: Math.floor(stats.mtimeMs / 1000),
  ctime: Math.floor(stats.ctimeMs / 1000),
  inode: stats.ino,
  // On a device everything belongs to root, whichever user runs the simulator.
  uid: 0,
  gid: 0,
  user: 'root',
  group: 'root',
});

const typeOf = (stats: Stats): string => {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'unknown';
};

const ERRNO_STATUS: Readonly<Record<string, Status>> = {
  EACCES: STATUS.permissionDenied,
  ENOTDIR: STATUS.invalidArgument,
  ENOENT: STATUS.notFound,
  EINVAL: STATUS.invalidArgument,
  EISDIR: STATUS.noData,
};

const LEFT_IN_ERRNO: ReadonlySet<Status> = new Set([
  STATUS.notFound,
  STATUS.permissionDenied,
  STATUS.invalidArgument,
]);

const answeringErrno = async (answer: () => Reply | Promise<Reply>): Promise<Reply> => {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return failed(ERRNO_STATUS[String(error.code)] ?? STATUS.unknownError);
  }
};
