/** `sdewan` and `kubectl sdewan`: what operators run by hand. */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { CommandIo } from './command.ts';
import { commands } from './commands.ts';
import { COMPLETE } from './completion/complete.ts';
import { showsColours } from '../views/output/colour.ts';
import { forTerminal } from '../views/output/table.ts';
import { runProgram } from './program.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => stop.abort(new Error('interrupted')));

const io: CommandIo = {
  env: process.env,
  readText: (file) =>
    file === '-' ? text(addAbortSignal(stop.signal, process.stdin)) : readFile(file, 'utf8'),
  // A file or another program gets it as it is written.
  out: (output) => process.stdout.write(process.stdout.isTTY ? forTerminal(output) : output),
  hasColours: showsColours(),
  say: (line) => process.stderr.write(`${forTerminal(line)}\n`),
};

/** As kubectl calls a plugin, and asks for completions; as one executable file, with an ending. */
const called = basename(process.argv0).replace(/\.exe$/, '');
const name = called.startsWith('kubectl-') ? 'kubectl sdewan' : 'sdewan';
const asked = called === 'kubectl_complete-sdewan' ? [COMPLETE] : [];

// The next program of a pipe, such as `head`, has read what it wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
process.exitCode = await runProgram([...asked, ...process.argv.slice(2)], {
  name,
  commands,
  io,
  signal: stop.signal,
});
