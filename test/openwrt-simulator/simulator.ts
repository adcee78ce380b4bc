/** An OpenWRT for tests: wires the device's file system, UCI, rpcd, uhttpd, programs, faults and the journal together. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createClock, type Clock } from './clock.ts';
import { controlRoute } from './control/route.ts';
import { createInterfaceObject, createMwan3Object } from './device/network.ts';
import {
  createRcObject,
  createServiceObject,
  createSystemObject,
  INIT_SCRIPTS,
} from './device/system.ts';
import { mountedFiles, writeFactory, type Factory } from './factory/factory.ts';
import { createFaults, type Faults } from './faults.ts';
import { createJournal, type Journal, type JournalEntry } from './journal.ts';
import { createDd } from './programs/dd.ts';
import { Fw4, type LoadedFirewall } from './programs/fw4.ts';
import { createInitScript } from './programs/init-script.ts';
import { ProgramRunner, type Program } from './programs/runner.ts';
import { createUci } from './programs/uci.ts';
import { CONFIG_DIRECTORY, createDeviceRoot, type DeviceRoot } from './root.ts';
import { Bus } from './rpcd/bus.ts';
import { Rpcd } from './rpcd/rpcd.ts';
import { createServices, type Services } from './services.ts';
import { UciStore } from './uci/store.ts';
import { ubusRoute } from './uhttpd/ubus-route.ts';
import { listen, type Listener, type Route } from './uhttpd/server.ts';

export type SimulatorOptions = {
  /** Folder for everything; a temporary one, removed at the end, when absent. The journal in it grows over restarts. */
  stateDirectory?: string;
  /**
   * The folder that is / of the device; default: one in the state directory. A container gives its own root here, and what a
   * volume put there before the start (rpcd's logins and rights) is kept.
   */
  rootDirectory?: string;
  /** Default 127.0.0.1 and any free port. `httpPort` null: no HTTP. */
  host?: string;
  httpPort?: number | null;
  /** HTTPS as well, with a PEM certificate and key. */
  https?: { port?: number; certificate: string; key: string };
  factory?: Factory;
  /** How fast OpenWRT's time passes; 1 when absent. */
  speed?: number;
  /** In place of that, a clock that the test moves. */
  clock?: Clock;
  /** Milliseconds that a `fw4 reload` takes per section; 0 when absent. Measured: 0.6. */
  reloadMsPerRule?: number;
  /** Milliseconds of delay of each answer but the first on a connection; 0 when absent. Measured: 23 to 44. */
  keepAliveDelayMs?: number;
  /** Whether the journal keeps the text of each write; true when absent. */
  journalTexts?: boolean;
  /** More programs for `file.exec`, by absolute path; a text is the path of another one that it is a link to. */
  programs?: Readonly<Record<string, Program | string>>;
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
  /** As a restarted container: factory configuration, no sessions, connections reset. */
  restart: () => void;
  killRpcd: () => void;
  stop: () => Promise<void>;
};

export const startSimulator = async (options: SimulatorOptions = {}): Promise<Simulator> => {
  const stateDirectory = options.stateDirectory ?? mkdtempSync(`${tmpdir()}/openwrt-simulator-`);
  mkdirSync(stateDirectory, { recursive: true });
  const device = createDevice(options, stateDirectory);
  const restart = (): void => {
    device.journal.add({ event: 'start', why: 'restart' });
    writeFactory(device.root, device.store, device.factory);
    device.fw4.boot();
    device.rpcd.restart();
    for (const listener of device.listeners) listener.resetConnections();
  };
  const routes: Route[] = [
    ubusRoute({ ...device, restart }),
    controlRoute({ ...device, restart }),
    { matches: (path) => path === '/', maxBodyBytes: 0, answer: () => READY_PAGE },
  ];
  await openListeners(options, device.listeners, routes);
  const [first, second] = device.listeners;
  return {
    url: first?.url ?? '',
    httpsUrl: options.https ? (second ?? first)?.url : undefined,
    configDirectory: device.store.configDirectory,
    rootDirectory: device.root.directory,
    journalPath: device.journalPath,
    store: device.store,
    faults: device.faults,
    journal: () => device.journal.entries(),
    reloads: () => device.services.counts(),
    firewall: () => device.fw4.loaded,
    restart,
    killRpcd: () => device.rpcd.die('asked to'),
    stop: async () => {
      device.rpcd.stop();
      device.faults.clear();
      await Promise.all(device.listeners.map(({ close }) => close()));
      if (options.stateDirectory === undefined)
        rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
};

/** What ICN's image shows at `/`, where its readiness probe looks. */
const READY_PAGE = {
  status: 200,
  body: '<!DOCTYPE html><title>OpenWrt</title>\n',
  contentType: 'text/html',
} as const;

type Device = {
  root: DeviceRoot;
  factory: Factory;
  store: UciStore;
  journal: Journal;
  journalPath: string;
  clock: Clock;
  services: Services;
  faults: Faults;
  bus: Bus;
  rpcd: Rpcd;
  fw4: Fw4;
  listeners: Listener[];
};

const createDevice = (options: SimulatorOptions, stateDirectory: string): Device => {
  const journalPath = `${stateDirectory}/journal.jsonl`;
  const journal = createJournal({ path: journalPath, texts: options.journalTexts ?? true });
  const clock = options.clock ?? createClock(options.speed);
  const root = createDeviceRoot(options.rootDirectory ?? `${stateDirectory}/root`);
  const store = new UciStore({
    configDirectory: root.path(CONFIG_DIRECTORY),
    onWrite: (write) => journal.recordWrite(write),
  });
  const services = createServices(journal);
  journal.add({ event: 'start', why: 'process' });
  const mounted = options.rootDirectory === undefined ? [] : mountedFiles(root);
  const factory = { ...options.factory, mounted };
  writeFactory(root, store, factory);
  const fw4 = new Fw4({
    root,
    store,
    services,
    clock,
    reloadMsPerRule: options.reloadMsPerRule ?? 0,
  });
  fw4.boot();
  const programs = new ProgramRunner({
    clock,
    programs: {
      '/bin/dd': createDd(root),
      '/sbin/uci': createUci({ root, store }),
      '/sbin/fw4': fw4.program,
      ...initScripts(services),
      '/etc/init.d/firewall': fw4.program,
      ...options.programs,
    },
  });
  const bus = new Bus();
  bus.add('system', createSystemObject({ clock, hostname: () => 'OpenWrt' }));
  bus.add('service', createServiceObject());
  bus.add('network.interface', createInterfaceObject(store));
  bus.add('mwan3', createMwan3Object(store));
  bus.add('rc', createRcObject(programs));
  const rpcd = new Rpcd({ root, store, programs, journal, clock, bus, onConfigChange: () => {} });
  return {
    root,
    factory,
    store,
    journal,
    journalPath,
    clock,
    services,
    faults: createFaults(),
    bus,
    rpcd,
    fw4,
    listeners: [],
  };
};

const initScripts = (services: Services): Record<string, Program> =>
  Object.fromEntries(
    Object.keys(INIT_SCRIPTS).map((service) => [
      `/etc/init.d/${service}`,
      createInitScript(service, services),
    ]),
  );

const openListeners = async (
  options: SimulatorOptions,
  listeners: Listener[],
  routes: readonly Route[],
): Promise<void> => {
  const common = {
    host: options.host ?? '127.0.0.1',
    routes,
    keepAliveDelayMs: options.keepAliveDelayMs ?? 0,
  };
  if (options.httpPort !== null)
    listeners.push(await listen({ ...common, port: options.httpPort ?? 0 }));
  if (options.https)
    listeners.push(await listen({ ...common, port: options.https.port ?? 0, tls: options.https }));
};
