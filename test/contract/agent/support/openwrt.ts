/** A simulator with a login for the agent, and a folder of the agent's own, for tests in one process. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readUci, type JudgedSection } from '../../../judge/uci.ts';
import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../../openwrt-simulator/simulator.ts';

const LOGIN = { username: 'sdewan', password: 'agent-pw' };
const STOCK_ACLS = join(import.meta.dirname, '../../../openwrt-simulator/factory/acl');

/** No page of LuCI's is about IPsec, so an operator has to add this. */
const IPSEC_ACL = { 'sdewan-ipsec': { read: { uci: ['ipsec'] }, write: { uci: ['ipsec'] } } };

/** ICN's image: root with the rights of LuCI's pages, and a procd that reloads what was committed. */
const stockOptions = (): SimulatorOptions => ({
  procdReloads: true,
  factory: {
    rootPassword: LOGIN.password,
    aclFiles: {
      ...Object.fromEntries(
        readdirSync(STOCK_ACLS).map((name) => [name, readFileSync(join(STOCK_ACLS, name), 'utf8')]),
      ),
      'sdewan-ipsec.json': JSON.stringify(IPSEC_ACL),
    },
  },
});

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

export type OpenwrtOptions = SimulatorOptions & {
  /** `stock`: only the administrator of a stock LuCI image, who may use `uci` and little else. `own` when absent. */
  login?: 'own' | 'stock';
};

export const startOpenwrt = async ({
  login = 'own',
  ...options
}: OpenwrtOptions = {}): Promise<TestOpenwrt> => {
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-agent-test-'));
  const usernameFile = join(folder, 'username');
  const passwordFile = join(folder, 'password');
  writeFileSync(usernameFile, login === 'stock' ? 'root' : LOGIN.username);
  writeFileSync(passwordFile, `${LOGIN.password}\n`);
  const base = login === 'stock' ? stockOptions() : { factory: { agent: LOGIN } };
  const simulator = await startSimulator({
    ...base,
    ...options,
    factory: { ...base.factory, ...options.factory },
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
