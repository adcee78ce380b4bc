/**
 * The ubus object `uci` without the methods that write packages (apply.ts): reads and staged
 * changes of one session, with rpcd's checks of arguments and rights.
 */
import type { Json } from '../../json.ts';
import { UciError } from '../../uci/errors.ts';
import type { UciStore } from '../../uci/store.ts';
import {
  SESSION_ARGUMENT,
  STATUS,
  failed,
  ok,
  type Arguments,
  type BusObject,
  type Caller,
  type Reply,
  type Status,
} from '../bus.ts';
import { add, order, remove, rename, set } from './stage.ts';
import { dumpChange, dumpPackage, dumpSection } from './values.ts';

export type UciObjectDeps = {
  store: UciStore;
  /** Whether the session may `read` or `write` that package. */
  allows: (session: string, packageName: string, right: 'read' | 'write') => boolean;
  stagingDirectory: (session: string) => string;
};

/** A call on one package by a session that has the right for it. */
export type PackageCall = {
  store: UciStore;
  args: Arguments;
  packageName: string;
  stagingDirectory: string;
};

const CONFIG = { config: 'string' } as const;
const MATCH = { type: 'string', match: 'object' } as const;
const SECTION = { section: 'string' } as const;
const OPTION = { option: 'string' } as const;
const GET = { ...CONFIG, ...SECTION, ...OPTION, ...MATCH, ...SESSION_ARGUMENT } as const;

export const createUciObject = (deps: UciObjectDeps): BusObject => {
  const on =
    (right: 'read' | 'write', answer: (call: PackageCall) => Reply) =>
    (args: Arguments, caller: Caller): Reply =>
      answering(() => {
        const packageName = args.text('config');
        if (packageName === undefined) return failed(STATUS.invalidArgument);
        if (!deps.allows(caller.session, packageName, right))
          return failed(STATUS.permissionDenied);
        const stagingDirectory = deps.stagingDirectory(caller.session);
        return answer({ store: deps.store, args, packageName, stagingDirectory });
      });
  return {
    configs: { arguments: {}, call: () => ok({ configs: deps.store.list() }) },
    get: { arguments: GET, call: on('read', get) },
    state: { arguments: GET, call: on('read', get) },
    add: {
      arguments: {
        ...CONFIG,
        type: 'string',
        name: 'string',
        values: 'object',
        ...SESSION_ARGUMENT,
      },
      call: on('write', add),
    },
    set: {
      arguments: { ...CONFIG, ...SECTION, ...MATCH, values: 'object', ...SESSION_ARGUMENT },
      call: on('write', set),
    },
    delete: {
      arguments: {
        ...CONFIG,
        ...SECTION,
        ...MATCH,
        ...OPTION,
        options: 'array',
        ...SESSION_ARGUMENT,
      },
      call: on('write', remove),
    },
    rename: {
      arguments: { ...CONFIG, ...SECTION, ...OPTION, name: 'string', ...SESSION_ARGUMENT },
      call: on('write', rename),
    },
    order: {
      arguments: { ...CONFIG, sections: 'array', ...SESSION_ARGUMENT },
      call: on('write', order),
    },
    changes: {
      arguments: { ...CONFIG, ...SESSION_ARGUMENT },
      call: (args, caller) =>
        args.text('config') === undefined
          ? allChanges(deps, caller)
          : on('read', changes)(args, caller),
    },
  };
};

/** Turns libuci's refusals into rpcd's codes. */
const answering = (answer: () => Reply): Reply => {
  try {
    return answer();
  } catch (error) {
    return refusalOf(error);
  }
};

/** @throws whatever is none of libuci's */
export const refusalOf = (error: unknown): Reply => {
  if (error instanceof UciError) return failed(STATUS_OF[error.kind]);
  throw error;
};

const STATUS_OF: Readonly<Record<UciError['kind'], Status>> = {
  invalid: STATUS.invalidArgument,
  'not found': STATUS.notFound,
  parse: STATUS.unknownError,
  io: STATUS.unknownError,
};

const get = ({ store, args, packageName, stagingDirectory }: PackageCall): Reply => {
  const { package: uciPackage } = store.load(packageName, stagingDirectory);
  const name = args.text('section');
  if (name === undefined) return ok({ values: dumpPackage(uciPackage, args) });
  const section = uciPackage.resolve(name);
  if (!section) return ok();
  const option = args.text('option');
  if (option === undefined) return ok({ values: dumpSection(section) });
  const value = section.options.get(option);
  return value === undefined ? ok() : ok({ value });
};

const changes = ({ store, packageName, stagingDirectory }: PackageCall): Reply =>
  ok({ changes: store.load(packageName, stagingDirectory).staged.map(dumpChange) });

/**
 * The contents of all packages that the session may read; one that cannot be loaded is left out.
 */
const allChanges = (deps: UciObjectDeps, { session }: Caller): Reply => {
  const found: Record<string, Json> = {};
  for (const name of deps.store.list()) {
    if (!deps.allows(session, name, 'read')) continue;
    answering(() => {
      const { staged } = deps.store.load(name, deps.stagingDirectory(session));
      if (staged.length > 0) found[name] = staged.map(dumpChange);
      return ok();
    });
  }
  return ok({ changes: found });
};
