/** All commands, in the order in which `--help` lists them. */
import { applyCommand, deleteCommand } from './apply/command.ts';
import { checkCommand } from './check/command.ts';
import type { CommandFile } from './command.ts';
import { completionCommand } from './completion/command.ts';
import { dashboardCommand } from './dashboard/command.ts';
import { diffCommand } from './diff/command.ts';
import { docsCommand } from './docs/command.ts';
import { explainCommand } from './explain/command.ts';
import { injectCommand, uninjectCommand } from './inject-command.ts';
import { installCommand } from './install/command.ts';
import { renderCommand } from './render/command.ts';
import { resyncCommand } from './resync/command.ts';
import { rolloutCommand } from './rollout/command.ts';
import { rulesCommand } from './rules/command.ts';
import { statusCommand } from './status/command.ts';
import { supportBundleCommand } from './support-bundle/command.ts';
import { traceCommand } from './trace/command.ts';
import { uninstallCommand } from './uninstall/command.ts';
import { versionCommand } from './version/command.ts';

export const commands: readonly CommandFile[] = [
  statusCommand,
  rulesCommand,
  explainCommand,
  docsCommand,
  resyncCommand,
  rolloutCommand,
  renderCommand,
  diffCommand,
  applyCommand,
  deleteCommand,
  traceCommand,
  injectCommand,
  uninjectCommand,
  dashboardCommand,
  checkCommand,
  supportBundleCommand,
  installCommand,
  uninstallCommand,
  versionCommand,
  completionCommand,
];
