/** All commands, in the order in which `--help` lists them. */
import { check } from './check/command.ts';
import type { CommandFile } from './command.ts';
import { completion } from './completion/command.ts';
import { explain } from './explain/command.ts';
import { inject, uninject } from './inject-command.ts';
import { render } from './render/command.ts';
import { rules } from './rules/command.ts';
import { status } from './status/command.ts';
import { uninstall } from './uninstall/command.ts';
import { version } from './version/command.ts';
import { wait } from './wait/command.ts';

export const commands: readonly CommandFile[] = [
  status,
  rules,
  explain,
  wait,
  render,
  inject,
  uninject,
  check,
  uninstall,
  version,
  completion,
];
