/** `sdewan` and `kubectl sdewan`: what operators run by hand. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CommandIo } from './command.ts';
import { commands } from './commands.ts';
import { runProgram } from './program.ts';

const io: CommandIo = {
  env: process.env,
  readText: (file) => (file === '-' ? text(process.stdin) : readFile(file, 'utf8')),
  out: (output) => process.stdout.write(output),
  say: (line) => process.stderr.write(`${line}\n`),
};

/** As kubectl calls a plugin. */
const name = basename(process.argv0).startsWith('kubectl-') ? 'kubectl sdewan' : 'sdewan';

// The next program of a pipe, such as `head`, has read what it wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));
process.once('SIGTERM', () => stop.abort(new Error('terminated')));
process.exitCode = await runProgram(process.argv.slice(2), {
  name,
  commands,
  io,
  signal: stop.signal,
});
