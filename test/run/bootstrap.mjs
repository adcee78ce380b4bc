/**
 * The first thing that `npm run demo` and `npm test` start, with whatever Node (20 or later) the
 * machine has: installs the dependencies when they are absent or out of date, then runs the given
 * script with the Node that package.json pins. Plain JavaScript on node: modules only, since
 * nothing is installed yet.
 *
 *   node test/run/bootstrap.mjs SCRIPT [ARGUMENTS…]
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isInstalled } from './installed.mjs';

const root = path.resolve(import.meta.dirname ?? '.', '../..');
const modules = path.join(root, 'node_modules');
const lock = path.join(root, 'package-lock.json');
/** Written by npm at the end of an installation. */
const installedLock = path.join(modules, '.package-lock.json');
const pinnedNode = path.join(modules, '.bin', 'node');
const OLDEST_NODE = 20;

const fail = (message) => {
  process.stderr.write(`\n${message}\n`);
  process.exit(1);
};

const isReady = () =>
  existsSync(installedLock) &&
  existsSync(pinnedNode) &&
  isInstalled(readFileSync(lock, 'utf8'), readFileSync(installedLock, 'utf8'));

const install = () => {
  process.stderr.write('Installing dependencies (npm ci, about 520 MB, half a minute) …\n');
  const started = Date.now();
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.error)
    fail(`npm cannot be started (${npm.error.message}). Install Node.js 20 or later with npm.`);
  if (npm.status !== 0) fail('npm ci failed; its own words are above. It needs the npm registry.');
  if (!existsSync(pinnedNode)) {
    fail(
      'The pinned Node did not arrive: its install script was not run. Allow it (npm config set ignore-scripts false) and try again.',
    );
  }
  process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`);
};

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  fail(
    `Node ${process.versions.node} is too old to begin with. Install Node.js ${OLDEST_NODE} or later with npm.`,
  );
}
if (!isReady()) install();

const [script, ...args] = process.argv.slice(2);
if (script === undefined) fail('usage: bootstrap.mjs SCRIPT [ARGUMENTS…]');
const child = spawn(pinnedNode, [path.resolve(root, script), ...args], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    PATH: `${path.join(modules, '.bin')}${path.delimiter}${process.env.PATH}`,
  },
});
// The terminal sends Ctrl-C to the child as well; this process only waits for its clean end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => signal === 'SIGTERM' && child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
