#!/usr/bin/env node
// `npx sdewan …` in a clone, with whatever Node (20 or later) the machine has: hands over to the
// Node that package.json pins. Also as `kubectl-sdewan`, which kubectl calls for `kubectl sdewan`,
// and as `kubectl_complete-sdewan`, which it asks for completions.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const node = path.resolve(folder, '../../node_modules/.bin/node');
const name = path.basename(process.argv[1] ?? 'sdewan');
if (existsSync(node)) {
  const program = path.join(folder, 'main.ts');
  const args = [program, ...process.argv.slice(2)];
  // Types are taken out of a file and it is compiled once, and not at each start.
  const cache = path.resolve(folder, '../../node_modules/.cache/sdewan');
  const env = { NODE_COMPILE_CACHE: cache, ...process.env };
  const { status } = spawnSync(node, args, { argv0: name, stdio: 'inherit', env });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write('sdewan: dependencies are not installed; run `npm ci` in the clone first\n');
  process.exitCode = 1;
}
