#!/usr/bin/env node
// Plain JavaScript for any Node: hands over to the command line, which is TypeScript and wants a
// Node that runs it.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 19)) {
  await import('../src/cli/main.ts');
} else {
  const program = createRequire(import.meta.url).resolve('node/bin/node'); // the npm package `node`
  const { status } = spawnSync(program, [import.meta.filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
