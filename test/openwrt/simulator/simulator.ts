/** An OpenWRT for tests: the device behind its HTTP and HTTPS ports, and the tests' hand on it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { controlRoute } from './control/route.ts';
import { createDevice, type DeviceOptions } from './device/device.ts';
import type { Faults } from './faults.ts';
import type { Kernel } from './icn/kernel/kernel.ts';
import type { PolicyTables } from './programs/policies.ts';
import { icnRoute } from './icn/route.ts';
import type { JournalEntry } from './journal.ts';
import { toBytes } from './bytes.ts';
import type { Ruleset } from './programs/firewall/ruleset.ts';
import type { LoadedFirewall } from './programs/fw4.ts';
import type { Mwan3 } from './programs/mwan3.ts';
import type { Netifd } from './programs/netifd.ts';
import type { ProgramResult } from './programs/runner.ts';
import type { UciStore } from './uci/store.ts';
import { listen, type Listener, type Route } from './uhttpd/server.ts';
import { ubusRoute } from './uhttpd/ubus-route.ts';

/** `ubus`: rpcd at /ubus. `icn`: LuCI and ICN's REST below it. */
export type Api = 'ubus' | 'icn';

export type SimulatorOptions = DeviceOptions & {
  /** What answers over HTTP; both when absent. The rest is 404. */
  apis?: readonly Api[];
  /**
   * Folder for everything; a temporary one, removed at the end, when absent. The journal in it
   * grows over restarts.
   */
  stateDirectory?: string;
  /** Default 127.0.0.1 and any free port. `httpPort` null: no HTTP. */
  host?: string;
  httpPort?: number | null;
  /** HTTPS as well, with a PEM certificate and key. */
  https?: { port?: number; certificate: string; key: string };
};

export type Simulator = {
  /** `http://127.0.0.1:port`, or the HTTPS one when there is no HTTP. */
  readonly url: string;
  readonly httpsUrl: string | undefined;
  /** The folder on this machine that is /etc/config of the device. */
  readonly configDirectory: string;
  /** The folder that is its /. */
  readonly rootDirectory: string;
  readonly journalPath: string;
  readonly store: UciStore;
  readonly faults: Faults;
  journal: () => JournalEntry[];
  /** Actions per service since the start. */
  reloads: () => Record<string, number>;
  /** What the kernel holds since the last reload that nft took. */
  firewall: () => LoadedFirewall;
  /** Table fw4, and routes and rules: what others do to them by nft and ip. */
  readonly nft: Ruleset;
  readonly routing: Netifd;
  /** mwan3's chains, its uplinks, and what others do to the chains by iptables. */
  readonly mwan3: Mwan3;
  readonly policies: PolicyTables;
  /** Calls of ICN's REST since the start, as `METHOD path`. */
  restCalls: () => readonly string[];
  /** What ICN's REST has set by iptables and ip. */
  readonly kernel: Kernel;
  /** An administrator's shell: starts the program and gives what it says. */
  shell: (command: string, ...params: string[]) => Promise<ProgramResult | 'timeout'>;
  /** An administrator's editor, or a shell's `>`: the package is written in place. */
  edit: (name: string, text: string) => Promise<void>;
  /** As a restarted container: factory configuration, no sessions, connections reset. */
  restart: () => void;
  killRpcd: () => void;
  stop: () => Promise<void>;
};

export const startSimulator = async (options: SimulatorOptions = {}): Promise<Simulator> => {
  const stateDirectory = options.stateDirectory ?? mkdtempSync(`${tmpdir()}/openwrt-simulator-`);
  mkdirSync(stateDirectory, { recursive: true });
  const device = createDevice(options, stateDirectory);
  const apis = options.apis ?? ['ubus', 'icn'];
  const listeners: Listener[] = [];
  const restCalls: string[] = [];
  const restart = (connection?: object): void => {
    device.restart();
    for (const listener of listeners) listener.resetConnections(connection);
  };
  await openListeners(options, listeners, [
    ...(apis.includes('ubus') ? [ubusRoute({ ...device, restart })] : []),
    ...(apis.includes('icn') ? [icnRoute({ ...device, restart }, restCalls)] : []),
    controlRoute({ ...device, restart }),
    { matches: (path) => path === '/', maxBodyBytes: 0, answer: () => READY_PAGE },
  ]);
  return {
    url: listeners[0]?.url ?? '',
    httpsUrl: options.https && listeners.at(-1)?.url,
    configDirectory: device.store.configDirectory,
    rootDirectory: device.root.directory,
    journalPath: device.journal.path,
    store: device.store,
    faults: device.faults,
    journal: () => device.journal.entries(),
    reloads: () => device.services.counts(),
    firewall: () => device.fw4.loaded,
    nft: device.fw4.nft,
    routing: device.netifd,
    mwan3: device.mwan3,
    policies: device.policies,
    restCalls: () => restCalls,
    kernel: device.kernel,
    shell: (command, ...params) => {
      const program = device.programs.find(command);
      if (program === undefined) throw new Error(`no program ${command}`);
      return device.programs.run(program, params, ADMINISTRATOR);
    },
    edit: (name, text) => device.writer.overwrite(name, toBytes(text), ADMINISTRATOR),
    restart: () => restart(),
    killRpcd: () => device.rpcd.die('asked to'),
    stop: async () => {
      device.rpcd.stop();
      device.faults.clear();
      await Promise.all(listeners.map(({ close }) => close()));
      if (options.stateDirectory === undefined)
        rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
};

const ADMINISTRATOR = { call: 'administrator' };

/** What ICN's image shows at `/`, where its readiness probe looks. */
const READY_PAGE = {
  status: 200,
  body: '<!DOCTYPE html><title>OpenWrt</title>\n',
  contentType: 'text/html',
} as const;

const openListeners = async (
  options: SimulatorOptions,
  listeners: Listener[],
  routes: readonly Route[],
): Promise<void> => {
  const common = { host: options.host ?? '127.0.0.1', routes };
  if (options.httpPort !== null)
    listeners.push(await listen({ ...common, port: options.httpPort ?? 0 }));
  if (options.https)
    listeners.push(await listen({ ...common, port: options.https.port ?? 0, tls: options.https }));
};
