/**
 * The `uci` command, as far as a configuration agent and an administrator's shell start it: `-f
 * FILE import PACKAGE`, `export`, `show`, and `set`, `delete` and `commit`.
 */
import { existsSync } from 'node:fs';
import { readBytes } from '../bytes.ts';
import type { DeviceRoot } from '../root.ts';
import { UciError, UciParseError } from '../uci/errors.ts';
import type { UciChange, UciPackage } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { escape, formatPackage } from '../uci/text.ts';
import type { UciWriter } from '../uci/writer.ts';
import {
  complained,
  printed,
  type Program,
  type ProgramCall,
  type ProgramResult,
} from './runner.ts';

/**
 * Where an administrator's shell stages its changes; visible to the command, not to rpcd's
 * sessions.
 */
export const SHELL_STAGING = '/tmp/.uci';

type Deps = { root: DeviceRoot; store: UciStore; writer: UciWriter };

export const createUci =
  (deps: Deps): Program =>
  async (call) => {
    const { name } = call;
    try {
      return (await run(deps, call)) ?? usage(name);
    } catch (error) {
      if (error instanceof UciParseError) return complained(1, `${name}: ${error.message}\n`);
      if (error instanceof UciError) return complained(1, `${name}: Entry not found\n`);
      throw error;
    }
  };

const usage = (name: string): ProgramResult =>
  complained(255, `Usage: ${name} [<options>] <command> [<arguments>]\n`);

const run = async (deps: Deps, call: ProgramCall): Promise<ProgramResult | undefined> => {
  const [first, second, third, fourth] = call.params;
  if (second === undefined) return undefined;
  if (first === '-f' && third === 'import' && fourth !== undefined)
    return importFile(deps, call, { file: second, packageName: fourth });
  const command = Object.hasOwn(COMMANDS, first ?? '') ? COMMANDS[first ?? ''] : undefined;
  return command?.(deps, second, call);
};

type Command = (
  deps: Deps,
  argument: string,
  call: ProgramCall,
) => ProgramResult | Promise<ProgramResult>;

const COMMANDS: Readonly<Record<string, Command>> = {
  export: (deps, name) => printed(`package ${name}\n${formatPackage(load(deps, name))}`),
  show: (deps, name) => printed(show(load(deps, name))),
  set: (deps, assignment) => {
    const [path = '', ...value] = assignment.split('=');
    return stage(deps, path, { command: 'set', value: value.join('=') });
  },
  delete: (deps, path) => stage(deps, path, { command: 'remove' }),
  commit: async ({ root, writer }, name, { by }) => {
    await writer.commit(name, root.path(SHELL_STAGING), { ...by, call: 'uci commit' });
    return printed('');
  },
};

/** `path`: `package.section` or `package.section.option`. */
const stage = (
  deps: Deps,
  path: string,
  change: Pick<UciChange, 'command' | 'value'>,
): ProgramResult => {
  const [name = '', section = '', option] = path.split('.');
  const made = load(deps, name).apply({
    ...change,
    section,
    ...(option === undefined ? {} : { option }),
  });
  deps.store.stage(name, deps.root.path(SHELL_STAGING), made ? [made] : []);
  return printed('');
};

const importFile = async (
  { root, writer }: Deps,
  { name, by }: ProgramCall,
  { file, packageName }: { file: string; packageName: string },
): Promise<ProgramResult> => {
  const path = root.path(file);
  if (!existsSync(path)) return complained(1, `${name}: I/O error\n`);
  await writer.import(packageName, readBytes(path), { ...by, call: 'uci import' });
  return printed('');
};

const load = ({ root, store }: Pick<Deps, 'root' | 'store'>, name: string): UciPackage =>
  store.load(name, root.path(SHELL_STAGING)).package;

/** Anonymous sections by type and place, as the command names them. */
const show = (uciPackage: UciPackage): string =>
  uciPackage.sections
    .map((section, index) => {
      const before = uciPackage.sections.slice(0, index);
      const place = before.filter(({ type }) => type === section.type).length;
      const id = section.anonymous ? `@${section.type}[${place}]` : section.name;
      const path = `${uciPackage.name}.${id}`;
      const options = [...section.options].map(([option, value]) => {
        const items = typeof value === 'string' ? [value] : value;
        return `${path}.${option}=${items.map((item) => `'${escape(item)}'`).join(' ')}\n`;
      });
      return `${path}=${section.type}\n${options.join('')}`;
    })
    .join('');
