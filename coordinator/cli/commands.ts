/** All commands, in the order in which `--help` lists them. */
import { check } from './check/command.ts';
import type { CommandFile } from './command.ts';
import { inject, uninject } from './inject-command.ts';
import { uninstall } from './uninstall/command.ts';

export const commands: readonly CommandFile[] = [inject, uninject, check, uninstall];
