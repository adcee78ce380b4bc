/** A MariaDB of its own in a folder, for a Neutron that takes several calls at a time. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isRunning } from 'kind-test-harness';
import type { Installed } from './install.ts';

const run = promisify(execFile);

const READY_MS = 60_000;
const AGAIN_MS = 100;

export type Mariadb = { url: string; stop: () => Promise<void> };

export const startMariadb = async (
  folder: string,
  { bin, root, python }: Installed,
): Promise<Mariadb> => {
  const data = join(folder, 'mariadb');
  const socket = join(folder, 'mariadb.sock');
  const common = ['--no-defaults', `--datadir=${data}`, `--user=${userInfo().username}`];
  await run(join(bin, 'mariadb-install-db'), [
    ...common,
    `--basedir=${join(root, 'usr')}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]);
  const child = spawn(
    join(bin, 'mariadbd'),
    [
      ...common,
      `--basedir=${join(root, 'usr')}`,
      `--lc-messages-dir=${join(root, 'usr/share/mysql')}`,
      `--socket=${socket}`,
      `--pid-file=${join(folder, 'mariadb.pid')}`,
      '--skip-networking',
    ],
    { stdio: 'ignore' },
  );
  const until = Date.now() + READY_MS;
  while (!existsSync(socket)) {
    if (!isRunning(child) || Date.now() > until) throw new Error('MariaDB has not started');
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  const create = `import pymysql; pymysql.connect(unix_socket='${socket}', user='root').cursor().execute('CREATE DATABASE neutron CHARACTER SET utf8')`;
  await run(python, ['-c', create]);
  return {
    url: `mysql+pymysql://root@localhost/neutron?unix_socket=${socket}&charset=utf8`,
    stop: async () => {
      if (!isRunning(child)) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
};
