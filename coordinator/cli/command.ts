/** What a command of the CLI is, gets and gives; it touches the process by nothing else. */
import type { Argument, Option } from 'commander';
import type { ZodType } from 'zod';
import { UsageError } from '../views/usage-error.ts';

/** `no`: out of sync, different, refused. `unknown`: not to be told, e.g. without a cluster. */
export const EXIT = { done: 0, no: 1, usage: 2, unknown: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type CommandIo = {
  env: Readonly<Record<string, string | undefined>>;
  /** `-`: standard input. @throws when it cannot be read */
  readText: (file: string) => Promise<string>;
  /** For the next program of a pipe. */
  out: (text: string) => void;
  /** `out` goes to a terminal with colours. */
  hasColours?: boolean;
  /** One line for the person who runs it. */
  say: (line: string) => void;
};

/** `options`: by their long names in camelCase, as commander gives them. */
export type Given = { args: readonly string[]; options: Readonly<Record<string, unknown>> };

export type Run = (given: Given, io: CommandIo, signal: AbortSignal) => Promise<ExitCode>;

/** An entry of `commands.ts`. What only its run needs is loaded by its run. */
export type CommandFile = {
  name: string;
  summary: string;
  /** Behind the summary in its help. */
  description?: string;
  args?: readonly Argument[];
  options?: readonly Option[];
  /** Arguments, and what they do. */
  examples: readonly (readonly [string, string])[];
  run: Run;
};

/** @throws UsageError that says all that is wrong with them */
export const optionsBy = <T>(schema: ZodType<T>, options: Given['options']): T => {
  const { data, error } = schema.safeParse(options);
  if (error) throw new UsageError(error.issues.map(({ message }) => message).join('; '));
  return data;
};

/** Neither yes nor no: no cluster, or no right. */
export class CannotTellError extends Error {
  override name = 'CannotTellError';
}
