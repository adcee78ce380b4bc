/**
 * What can stand next on a command line, from commander's tree. The protocol is that of kubectl's
 * plugins and of cobra: a candidate a line, and a last line `:4` (nothing else), or `:0` (files,
 * too).
 */
import type { Argument, Command, Option } from 'commander';

/** The first word of a line that asks; people do not type it. */
export const COMPLETE = '__complete';

/** Names that only the cluster knows, by the name of the argument; none when it does not answer. */
export type NameLookup = (
  argument: string,
  options: Readonly<Record<string, unknown>>,
) => Promise<readonly string[]>;

/** `words`: behind the program's name; the last is being written, and may be empty. */
export const completionsOf = async (
  program: Command,
  words: readonly string[],
  lookup: NameLookup,
): Promise<string> => {
  const current = words.at(-1) ?? '';
  const found = await candidates(program, words.slice(0, -1), current, lookup);
  const fitting = found.names.filter((name) => name.startsWith(current)).sort();
  return [...fitting, found.areFiles ? ':0' : ':4', ''].join('\n');
};

type Candidates = { names: readonly string[]; areFiles?: boolean };

const candidates = async (
  program: Command,
  before: readonly string[],
  current: string,
  lookup: NameLookup,
): Promise<Candidates> => {
  const [first, ...rest] = before;
  const commands = program.commands.map((command) => command.name());
  if (first === undefined)
    return { names: current.startsWith('-') ? flagsOf(program) : [...commands, 'help'] };
  if (first === 'help') return { names: rest.length === 0 ? commands : [] };
  const command = program.commands.find((one) => one.name() === first);
  if (!command) return { names: [] };
  const last = rest.at(-1) ?? '';
  const asked = command.options.find(
    ({ short, long }) => last !== '' && [short, long].includes(last),
  );
  if (asked && (asked.required || asked.optional)) return valuesOf(asked);
  if (current.startsWith('-')) return { names: flagsOf(command) };
  const given = operandsOf(command, rest);
  const argument = command.registeredArguments[given.length];
  return { names: argument ? await namesOf(argument, command, lookup) : [] };
};

const flagsOf = (command: Command): string[] => [
  ...command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : [])),
  '--help',
];

const valuesOf = ({ argChoices, long }: Option): Candidates => ({
  names: argChoices ?? [],
  areFiles: long === '--filename' || long === '--kubeconfig',
});

const operandsOf = (command: Command, words: readonly string[]): string[] => {
  try {
    return command.parseOptions([...words]).operands;
  } catch {
    return [];
  }
};

const namesOf = async (
  argument: Argument,
  command: Command,
  lookup: NameLookup,
): Promise<readonly string[]> => argument.argChoices ?? lookup(argument.name(), command.opts());
