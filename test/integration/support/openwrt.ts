/** A simulator with a login for the agent, and a folder of the agent's own, for tests in one process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readUci, type JudgedSection } from '../../judge/uci.ts';
import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../openwrt-simulator/simulator.ts';
import { readFileSync } from 'node:fs';

const LOGIN = { username: 'sdewan', password: 'agent-pw' };

export type TestOpenwrt = {
  simulator: Simulator;
  /** Empty but for the login's files. */
  folder: string;
  usernameFile: string;
  passwordFile: string;
  text: (uciPackage: string) => string;
  sections: (uciPackage: string) => JudgedSection[];
  /** The package as an administrator would change it with the CLI. */
  write: (uciPackage: string, text: string) => void;
  /** Writes to /etc/config by ubus calls of this name. */
  writes: (call: string) => number;
  stop: () => Promise<void>;
};

export const startOpenwrt = async (options: SimulatorOptions = {}): Promise<TestOpenwrt> => {
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-agent-test-'));
  const usernameFile = join(folder, 'username');
  const passwordFile = join(folder, 'password');
  writeFileSync(usernameFile, LOGIN.username);
  writeFileSync(passwordFile, `${LOGIN.password}\n`);
  const simulator = await startSimulator({
    ...options,
    factory: { agent: LOGIN, ...options.factory },
  });
  const pathOf = (name: string): string => join(simulator.configDirectory, name);
  const text = (name: string): string => readFileSync(pathOf(name), 'utf8');
  return {
    simulator,
    folder,
    usernameFile,
    passwordFile,
    text,
    sections: (name) => readUci(text(name)),
    write: (name, content) => writeFileSync(pathOf(name), content),
    writes: (call) =>
      simulator.journal().filter((entry) => entry.event === 'write' && entry.by.call === call)
        .length,
    stop: async () => {
      await simulator.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
