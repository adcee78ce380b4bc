/** What the login on OpenWRT may do, asked once per session: rpcd reads rights at each login. */
import * as z from 'zod';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { reloadersOf } from '../../services/services.ts';
import type { UbusSession } from './session.ts';
import { stagingFileOf } from '../write/staging.ts';
import { CONFIG_DIRECTORY } from '../read/uci-get.ts';

const accessSchema = z.object({ access: z.boolean() });

export type Right = { scope: 'ubus' | 'uci' | 'file'; object: string; function: string };

export type LoginRights = {
  /**
   * The packages that the login may write. Needed because rpcd answers alike when a right is
   * missing and when another session's apply is pending (measured).
   */
  writable: ReadonlySet<string>;
  /** What the fast path needs for these and the login lacks. */
  lacking: readonly Right[];
  /** The packages whose services it may reload. */
  reloadable: ReadonlySet<string>;
  /** Sees sizes and times of the files in /etc/config. */
  mayListFiles: boolean;
  /**
   * Names sections, and sees that no other client writes meanwhile: what the staged path needs to
   * take over what ICN's controller made.
   */
  mayRename: boolean;
};

export const rightText = ({ scope, object, function: name }: Right): string =>
  scope === 'ubus' ? `${object} ${name}` : `${name} ${object}`;

export const method = (object: string, name: string): Right => ({
  scope: 'ubus',
  object,
  function: name,
});
const EXECUTE = method('file', 'exec');
const FAST_METHODS: readonly Right[] = [
  ...['rollback', 'revert', 'confirm'].map((name) => method('uci', name)),
  ...['read', 'md5', 'write', 'remove'].map((name) => method('file', name)),
  EXECUTE,
];
const LISTING: readonly Right[] = [
  method('file', 'list'),
  { scope: 'file', object: CONFIG_DIRECTORY, function: 'list' },
];

const RENAMING: readonly Right[] = ['rename', 'apply', 'confirm'].map((name) =>
  method('uci', name),
);

export const rightsOf = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<LoginRights> => {
  const write = (name: string): Right => ({ scope: 'uci', object: name, function: 'write' });
  const asked = [
    ...packages.flatMap((name) => [write(name), ...fastFiles(session, name), ...reloadsOf(name)]),
    ...FAST_METHODS,
    ...RENAMING,
    ...LISTING,
  ];
  const may = await ask(session, asked, signal);
  const writable = packages.filter((name) => may(write(name)));
  const needed = [...FAST_METHODS, ...writable.flatMap((name) => fastFiles(session, name))];
  return {
    writable: new Set(writable),
    lacking: needed.filter((right) => !may(right)),
    reloadable: new Set(may(EXECUTE) ? writable.filter((name) => reloadsOf(name).some(may)) : []),
    mayListFiles: LISTING.every(may),
    mayRename: [...RENAMING, ...LISTING].every(may),
  };
};

/** What cannot be queried counts as granted: a try shows whether it is. */
export const ask = async (
  session: UbusSession,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<(right: Right) => boolean> => {
  const calls = rights.map((args) => ({ object: 'session', method: 'access', args }));
  const answers = await session.attempt(calls, { signal });
  const refused = new Set(
    rights
      .filter((_, at) => parseUntrusted(accessSchema, answers[at]?.data).data?.access === false)
      .map(rightText),
  );
  return (right) => !refused.has(rightText(right));
};

const fastFiles = (session: UbusSession, name: string): Right[] => [
  { scope: 'file', object: `/etc/config/${name}`, function: 'read' },
  { scope: 'file', object: stagingFileOf(session, name), function: 'write' },
];

const reloadsOf = (name: string): Right[] =>
  reloadersOf(name).map((program) => ({
    scope: 'file',
    object: `${program} reload`,
    function: 'exec',
  }));
