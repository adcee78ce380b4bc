/** What a command of the CLI gets and gives; it touches the process by nothing else, so that tests can call it. */

export const EXIT = { done: 0, refused: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type CommandIo = {
  env: Readonly<Record<string, string | undefined>>;
  /** `-`: standard input. @throws when it cannot be read */
  readText: (file: string) => Promise<string>;
  /** For the next program of a pipe. */
  out: (text: string) => void;
  /** One line for the person who runs it. */
  say: (line: string) => void;
};

export type Command = (
  args: readonly string[],
  io: CommandIo,
  signal: AbortSignal,
) => Promise<ExitCode>;

/** The command was used wrongly; the message says how. */
export class UsageError extends Error {
  override name = 'UsageError';
}
