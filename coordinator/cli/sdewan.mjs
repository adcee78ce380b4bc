#!/usr/bin/env node
// `npx sdewan …` in a clone, with whatever Node (20 or later) the machine has: hands over to the
// Node that package.json pins. Also as `kubectl-sdewan`, which kubectl calls for `kubectl sdewan`,
// and as `kubectl_complete-sdewan`, which it asks for completions.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const node = path.resolve(folder, '../../node_modules/.bin/node');
const name = path.basename(process.argv[1] ?? 'sdewan');
if (existsSync(node)) {
  const args = [path.join(folder, 'main.ts'), ...process.argv.slice(2)];
  // Types are taken out of a file and it is compiled once, and not at each start.
  const cache = path.resolve(folder, '../../node_modules/.cache/sdewan');
  const env = { NODE_COMPILE_CACHE: cache, ...process.env };
  // A terminal sends its own to both; others reach this process alone. They are listened for before
  // there is a program, so that none ends this process and leaves that one.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => program.kill(signal));
  process.on('SIGINT', () => process.stdin.isTTY || program.kill('SIGINT'));
  const program = spawn(node, args, { argv0: name, stdio: 'inherit', env });
  program.on('error', ({ message }) => {
    process.stderr.write(`sdewan: ${message}\n`);
    process.exitCode = 1;
  });
  program.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
  });
} else {
  process.stderr.write('sdewan: dependencies are not installed; run `npm ci` in the clone first\n');
  process.exitCode = 1;
}
