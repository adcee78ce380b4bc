import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { logIn } from './test-client.ts';

let stateDirectory: string;
let program: ChildProcess | undefined;
beforeEach(() => {
  stateDirectory = mkdtempSync(`${tmpdir()}/openwrt-simulator-main-`);
});
afterEach(() => {
  program?.kill('SIGKILL');
  rmSync(stateDirectory, { recursive: true, force: true });
});

const start = async (): Promise<string> => {
  program = spawn(process.execPath, [`${import.meta.dirname}/main.ts`], {
    env: {
      KTH_POD_IP: '127.0.0.1',
      PORT_80: '0',
      SIMULATOR_STATE_DIRECTORY: stateDirectory,
      SIMULATOR_AGENT_PASSWORD: 'pw',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line]: [Buffer] = (await once(program.stdout ?? program, 'data')) as [Buffer];
  return /http:\S+?(?=,)/.exec(line.toString())?.[0] ?? '';
};
const stop = async (): Promise<unknown> => {
  const exit = program && once(program, 'exit');
  program?.kill('SIGTERM');
  return (await exit)?.[0];
};

test('runs by its environment, ends on SIGTERM, and begins with the factory configuration again', async () => {
  const url = await start();
  expect((await logIn(url, 'sdewan', 'pw')).session).toMatch(/^\w{32}$/);
  const file = `${stateDirectory}/root/etc/config/firewall`;
  const factory = readFileSync(file, 'utf8');
  writeFileSync(file, '');
  expect(await stop()).toBe(0);
  await start();
  expect(readFileSync(file, 'utf8')).toBe(factory);
  expect(await stop()).toBe(0);
  const starts = readFileSync(`${stateDirectory}/journal.jsonl`, 'utf8').match(/"event":"start"/g);
  expect(starts).toHaveLength(2);
});
