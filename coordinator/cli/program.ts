/** Builds commander's program from the list of commands, and runs one command line with it. */
import { Command, CommanderError } from 'commander';
import { messageOf } from '#shared/runtime/errors.ts';
import {
  CannotTellError,
  EXIT,
  type CommandFile,
  type CommandIo,
  type ExitCode,
} from './command.ts';
import { COMPLETE, completionsOf } from './completion/complete.ts';
import { nearestNames } from './nearest.ts';
import { VERSION } from '#shared/own-version.ts';
import { UsageError } from '../views/usage-error.ts';

export type ProgramDeps = {
  /** As people call it: `sdewan` or `kubectl sdewan`. */
  name: string;
  commands: readonly CommandFile[];
  io: CommandIo;
  signal: AbortSignal;
};

/** Prints what went wrong; never throws. */
export const runProgram = async (args: readonly string[], deps: ProgramDeps): Promise<ExitCode> => {
  let code: ExitCode = EXIT.done;
  const program = programOf(deps, (given) => {
    code = given;
  });
  try {
    const [first, ...words] = args;
    if (first === COMPLETE) {
      const { clusterLookup } = await import('./completion/lookup.ts');
      deps.io.out(await completionsOf(program, words, clusterLookup(deps.io, deps.signal)));
      return code;
    }
    if (args.length === 0) program.help({ error: true });
    const unknown = unknownCommand(args, deps.commands);
    if (unknown !== undefined) throw new UsageError(unknownWords(unknown, deps));
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    // Commander has said what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const { aborted, reason } = deps.signal;
    deps.io.say(`sdewan: ${messageOf(aborted ? reason : error)}`);
    return codeOf(error);
  }
};

/** For completion, too. */
export const programOf = (
  { name, commands, io, signal }: ProgramDeps,
  done: (code: ExitCode) => void,
): Command => {
  const program = new Command(name)
    .description('Looks at SD-EWAN rules and CNFs, and prepares manifests for them.')
    .version(VERSION)
    // `--version` behind a command is that command's to know.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: (text) => io.say(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'sdewan: ')),
    })
    .showHelpAfterError(`Help: ${name} --help`)
    .addHelpText('after', EXIT_CODES);
  for (const file of commands) {
    // Made by its parent, so that it inherits how the parent prints and ends.
    const command = program
      .command(file.name)
      .summary(file.summary)
      .description([file.summary, file.description].filter(Boolean).join('\n'))
      .showHelpAfterError(`Help: ${name} ${file.name} --help`)
      .addHelpText('after', examplesOf(name, file));
    for (const argument of file.args ?? []) command.addArgument(argument);
    for (const option of file.options ?? []) command.addOption(option);
    command.action(async () => {
      const { args } = command;
      done(await file.run({ args, options: command.opts() }, io, signal));
    });
  }
  return program;
};

const EXIT_CODES = `
Exit codes: 0 done or yes; 1 no: out of sync, different, refused, not there; 2 used wrongly; 3 cannot tell: no cluster, or no right.`;

const examplesOf = (name: string, { name: command, examples }: CommandFile): string =>
  [
    '\nExamples:',
    ...examples.flatMap(([args, does]) => [
      `  # ${does}`,
      `  ${[name, command, args].filter(Boolean).join(' ')}`,
    ]),
  ].join('\n');

/** Commander would take a question for its help as one for that of the program. */
const unknownCommand = (
  [first = '', second]: readonly string[],
  commands: readonly CommandFile[],
): string | undefined => {
  const asked = first === 'help' ? (second ?? '') : first;
  const isKnown =
    asked === '' || asked.startsWith('-') || commands.some(({ name }) => name === asked);
  return isKnown ? undefined : asked;
};

const unknownWords = (unknown: string, { name, commands }: ProgramDeps): string => {
  const names = nearestNames(unknown, commands, (one) => one.name);
  return `unknown command '${unknown}'; the nearest are ${names}. Help: ${name} --help`;
};

const codeOf = (error: unknown): ExitCode => {
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof CannotTellError ? EXIT.unknown : EXIT.no;
};
