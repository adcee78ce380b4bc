/**
 * `sdewan`: what operators run by hand. Exit codes: 0 done; 1 refused or failed, and then nothing is on standard output; 2 used
 * wrongly.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { EnvError } from '#shared/runtime/env.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { EXIT, UsageError, type Command, type CommandIo, type ExitCode } from './command.ts';
import { injectUsage, runInject, runUninject } from './inject-command.ts';
import { own } from '#shared/runtime/own.ts';

const uninstallUsage = `sdewan uninstall --yes     remove rules, CRDs, webhooks, rights and the coordinator from a cluster
  --force                  also remove rules that CNFs do not confirm in time; they stay on OpenWRT until the pod is re-created
  --keep-rules             rules, CRDs and what is configured on CNFs stay; only those rules go that are being deleted
  --timeout SECONDS        for each step; default: 120
  --kubeconfig FILE        default: KUBECONFIG, or ~/.kube/config; its current context
`;

const checkUsage = `sdewan check               list roles that grant bucket types in a way that a later release refuses; changes nothing
  --bucket-types LIST      default: basic,app-intent,k8s-service
  --kubeconfig FILE        as above
`;

const USAGE = `usage: sdewan COMMAND

${injectUsage}
${uninstallUsage}
${checkUsage}`;

const COMMANDS: Readonly<Record<string, Command>> = {
  inject: runInject,
  uninject: runUninject,
  // What talks to a cluster is only loaded when it has to.
  check: async (...given) => (await import('./check/command.ts')).runCheck(...given),
  uninstall: async (...given) => (await import('./uninstall/command.ts')).runUninstall(...given),
};

const io: CommandIo = {
  env: process.env,
  readText: (file) => (file === '-' ? text(process.stdin) : readFile(file, 'utf8')),
  out: (output) => process.stdout.write(output),
  say: (line) => process.stderr.write(`${line}\n`),
};

const main = async (args: readonly string[], signal: AbortSignal): Promise<ExitCode> => {
  const [name = '', ...rest] = args;
  if (['help', '--help', '-h'].includes(name) || rest.includes('--help')) {
    io.out(USAGE);
    return EXIT.done;
  }
  const command = own(COMMANDS, name);
  if (command) return command(rest, io, signal);
  io.say(name === '' ? USAGE : `unknown command ${name}\n\n${USAGE}`);
  return EXIT.usage;
};

const isUsageError = (error: unknown): boolean =>
  error instanceof UsageError ||
  error instanceof EnvError ||
  (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));

const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));
process.once('SIGTERM', () => stop.abort(new Error('terminated')));
try {
  process.exitCode = await main(process.argv.slice(2), stop.signal);
} catch (error) {
  io.say(`sdewan: ${messageOf(error)}`);
  process.exitCode = isUsageError(error) ? EXIT.usage : EXIT.refused;
}
