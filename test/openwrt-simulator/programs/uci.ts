/** The `uci` command, as far as a configuration agent starts it: `-f FILE import PACKAGE`, `export`, `show`. */
import { existsSync } from 'node:fs';
import { readBytes } from '../bytes.ts';
import type { DeviceRoot } from '../root.ts';
import { UciError, UciParseError } from '../uci/errors.ts';
import type { UciPackage } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { escape, formatPackage } from '../uci/text.ts';
import {
  complained,
  printed,
  type Program,
  type ProgramCall,
  type ProgramResult,
} from './runner.ts';

/** Where an administrator's shell stages its changes; visible to the command, not to rpcd's sessions. */
export const SHELL_STAGING = '/tmp/.uci';

export const createUci =
  ({ root, store }: { root: DeviceRoot; store: UciStore }): Program =>
  (call) => {
    const { name, params } = call;
    try {
      const [first, second, third, fourth] = params;
      if (first === '-f' && third === 'import' && second !== undefined && fourth !== undefined)
        return importFile({ root, store }, call, { file: second, packageName: fourth });
      if (first === 'export' && second !== undefined)
        return printed(`package ${second}\n${formatPackage(load({ root, store }, second))}`);
      if (first === 'show' && second !== undefined)
        return printed(show(load({ root, store }, second)));
      return complained(255, `Usage: ${name} [<options>] <command> [<arguments>]\n`);
    } catch (error) {
      if (error instanceof UciParseError) return complained(1, `${name}: ${error.message}\n`);
      if (error instanceof UciError) return complained(1, `${name}: Entry not found\n`);
      throw error;
    }
  };

const importFile = (
  { root, store }: { root: DeviceRoot; store: UciStore },
  { name, by }: ProgramCall,
  { file, packageName }: { file: string; packageName: string },
): ProgramResult => {
  const path = root.path(file);
  if (!existsSync(path)) return complained(1, `${name}: I/O error\n`);
  store.import(packageName, readBytes(path), { ...by, call: 'uci import' });
  return printed('');
};

const load = ({ root, store }: { root: DeviceRoot; store: UciStore }, name: string): UciPackage =>
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
