/**
 * A simulator with a login for the agent, and a folder of the agent's own, for tests in one
 * process. It takes the time that a device takes, on a clock that agent and simulator share: what
 * calls it is awaited with `clock.until`.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CNF_FILES, OWN_LOGIN_FILES } from '#shared/inject/own-login-files.ts';
import { ensureOwnLogin } from '../../../../agent/openwrt/ubus/login/own-login.ts';
import { readUci, type DeviceSection } from '../../../openwrt/checks/uci.ts';
import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../../openwrt/simulator/simulator.ts';
import { createSharedClock } from '../../../stack/shared-clock.ts';
import { realTime, type TestClock } from './time.ts';

const PACKAGES = ['firewall', 'mwan3', 'ipsec', 'network', 'keepalived'];
const LOGIN = { username: 'sdewan', password: 'agent-pw' };
const STOCK_ACLS = join(import.meta.dirname, '../../../openwrt/simulator/factory/acl');

/**
 * Measured: 1,000 `uci add` with an apply every 25 take 2.9 to 3.5 s, `fw4 reload` of 1,000 named
 * rules 0.62 s.
 */
const AS_MEASURED = { uciMsPerKilobyte: 0.03, reloadMsPerRule: 0.6 };

/** No page of LuCI's is about IPsec, so an operator has to add this. */
const IPSEC_ACL = { 'sdewan-ipsec': { read: { uci: ['ipsec'] }, write: { uci: ['ipsec'] } } };

/**
 * ICN's image: root with the rights of LuCI's pages, and a procd that reloads what was committed.
 */
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

/** A root folder that has the files, as a CNF's container. */
const mountedOptions = async (folder: string): Promise<SimulatorOptions> => {
  const rootDirectory = join(folder, 'root');
  await ensureOwnLogin({ directory: folder, packages: PACKAGES });
  for (const [path, file] of Object.entries(CNF_FILES)) {
    mkdirSync(dirname(join(rootDirectory, path)), { recursive: true });
    cpSync(join(folder, file), join(rootDirectory, path));
  }
  return { rootDirectory };
};

export type TestOpenwrt = {
  simulator: Simulator;
  clock: TestClock;
  /** Empty but for the login's files and the device. */
  folder: string;
  usernameFile: string;
  passwordFile: string;
  text: (uciPackage: string) => string;
  sections: (uciPackage: string) => DeviceSection[];
  /** The package as an administrator would change it with the CLI. */
  write: (uciPackage: string, text: string) => void;
  /** Writes to /etc/config by ubus calls of this name. */
  writes: (call: string) => number;
  stop: () => Promise<void>;
};

export type OpenwrtOptions = SimulatorOptions & {
  /**
   * `stock`: only the administrator of a stock LuCI image, with the right to `uci` and little else.
   * `mounted`: the agent's own, as the kubelet mounts its files. `own`, when absent: the same made
   * by an operator, so without the helper that looks into the kernel.
   */
  login?: 'own' | 'stock' | 'mounted';
  /** `real`: the machine's, where others take part, such as an API server. `shared` when absent. */
  time?: 'shared' | 'real';
};

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 256 * 1_048_576;

/**
 * In memory where there is enough: the agent has its files written to the disk, and tests would
 * mostly wait for that.
 */
const newFolder = (): string => {
  const { bavail, bsize } = existsSync(MEMORY) ? statfsSync(MEMORY) : { bavail: 0, bsize: 0 };
  const parent = bavail * bsize < ENOUGH_BYTES ? tmpdir() : MEMORY;
  return mkdtempSync(join(parent, 'sdewan-agent-test-'));
};

export const startOpenwrt = async ({
  login = 'own',
  time = 'shared',
  ...options
}: OpenwrtOptions = {}): Promise<TestOpenwrt> => {
  const folder = newFolder();
  const usernameFile = join(folder, OWN_LOGIN_FILES.username);
  const passwordFile = join(folder, OWN_LOGIN_FILES.password);
  if (login !== 'mounted') {
    writeFileSync(usernameFile, login === 'stock' ? 'root' : LOGIN.username);
    writeFileSync(passwordFile, `${LOGIN.password}\n`);
  }
  const base = await {
    own: async () => ({ factory: { agent: LOGIN } }),
    stock: async () => stockOptions(),
    mounted: () => mountedOptions(folder),
  }[login]();
  const isShared = time === 'shared' && options.clock === undefined;
  const shared = isShared ? createSharedClock() : undefined;
  const simulator = await startSimulator({
    stateDirectory: join(folder, 'openwrt'),
    ...AS_MEASURED,
    ...(shared && { clock: shared.device }),
    ...base,
    ...options,
    factory: { ...base.factory, ...options.factory },
  });
  const pathOf = (name: string): string => join(simulator.configDirectory, name);
  const text = (name: string): string => readFileSync(pathOf(name), 'utf8');
  return {
    simulator,
    clock: shared ?? realTime,
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
      shared?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
