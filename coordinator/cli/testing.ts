/** The CLI in tests: a command line, files and variables in; exit code and both outputs out. */
import type { CommandIo, ExitCode } from './command.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

type Surroundings = {
  files?: Readonly<Record<string, string>>;
  env?: CommandIo['env'];
  name?: string;
};

export const runCli = async (
  args: readonly string[],
  { files = {}, env = {}, name = 'sdewan' }: Surroundings = {},
): Promise<{ code: ExitCode; out: string; said: string[] }> => {
  let out = '';
  const said: string[] = [];
  const io: CommandIo = {
    env,
    readText: async (file) => {
      const text = files[file];
      if (text === undefined)
        throw Object.assign(new Error(file), { syscall: 'open', code: 'ENOENT' });
      return text;
    },
    out: (text) => (out += text),
    say: (line) => said.push(line),
  };
  const signal = new AbortController().signal;
  const code = await runProgram(args, { name, commands, io, signal });
  return { code, out, said };
};
