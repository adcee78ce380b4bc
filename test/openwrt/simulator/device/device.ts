/**
 * The device without its network: file system, UCI, rpcd and the other bus objects, programs,
 * journal and faults, wired together. Every front end (uhttpd's /ubus, ICN's REST) stands on this.
 */
import { existsSync } from 'node:fs';
import { writeBytes } from '../bytes.ts';
import { createClock, type Clock } from '../clock.ts';
import { mountedFiles, writeFactory, type Factory } from '../factory/factory.ts';
import { createFaults, type Faults } from '../faults.ts';
import { createKernel } from '../icn/kernel/device-kernel.ts';
import type { Kernel } from '../icn/kernel/kernel.ts';
import { createJournal, type Journal } from '../journal.ts';
import { createDd } from '../programs/dd.ts';
import { Fw4 } from '../programs/fw4.ts';
import { createIpsecScript, nameOf, textOf, type IpsecScript } from '../programs/ipsec-scripts.ts';
import { Charon, createIpsec } from '../programs/ipsec.ts';
import { createInitScript } from '../programs/init-script.ts';
import { createKeepalived, type Keepalived } from '../programs/keepalived.ts';
import { createKernelHelper, KERNEL_HELPER_PATH } from '../programs/kernel-helper.ts';
import { Mwan3 } from '../programs/mwan3.ts';
import { Netifd } from '../programs/netifd.ts';
import { PolicyTables } from '../programs/policies.ts';
import { ProgramRunner, type Program } from '../programs/runner.ts';
import { createUci } from '../programs/uci.ts';
import { CONFIG_DIRECTORY, createDeviceRoot, type DeviceRoot } from '../root.ts';
import { Bus } from '../rpcd/bus.ts';
import { Rpcd } from '../rpcd/rpcd.ts';
import { createServices, type Services } from '../services.ts';
import { UciStore } from '../uci/store.ts';
import { createUciWriter, type UciWriter } from '../uci/writer.ts';
import { createInterfaceObject, createMwan3Object } from './network.ts';
import {
  createRcObject,
  createServiceObject,
  createSystemObject,
  INIT_SCRIPTS,
  KEEPALIVED_SCRIPT,
} from './system.ts';

export type DeviceOptions = {
  /**
   * The folder that is / of the device; default: one in the state directory. A container gives its
   * own root here, and what a volume put there before the start (rpcd's logins and rights) is kept.
   */
  rootDirectory?: string;
  factory?: Factory;
  /** A clock that the test moves; real time when absent. */
  clock?: Clock;
  /** Milliseconds that a `fw4 reload` takes per named section; 0 when absent. Measured: 0.6. */
  reloadMsPerRule?: number;
  /** Milliseconds that each `fw4 reload` takes besides; 0 when absent. */
  reloadMs?: number;
  /** Milliseconds after which rpcd kills a program: its option `timeout`; 30 s when absent. */
  execTimeoutMs?: number;
  /**
   * Milliseconds that an action of another service takes, by the package's name; 0 for those that
   * are not there.
   */
  serviceMs?: Readonly<Record<string, number>>;
  /**
   * Milliseconds that each call of `uci` takes per KiB of package and staged changes; 0 when
   * absent. With 0.03 a thousand `uci add` take 4 s; measured: 2.9 to 7.5 s.
   */
  uciMsPerKilobyte?: number;
  /**
   * Milliseconds that a write of a package takes per KiB; 0 when absent: at once. Meanwhile
   * another's commit can be lost, and a file that is written in place is seen half written
   * (uci/writer.ts). Measured: 0.1 to 0.7 for a commit.
   */
  writeMsPerKilobyte?: number;
  /** The init script of IPsec; that of ICN's image when absent. */
  ipsecScript?: IpsecScript;
  /**
   * Whether procd reloads a service when rpcd has changed its package, as on ICN's image; false
   * when absent.
   */
  procdReloads?: boolean;
  /**
   * iptables commands of /etc/sdewan.user, without the first word; ICN's masquerading on eth0 when
   * absent.
   */
  userRules?: readonly string[];
  /** Whether the journal keeps the text of each write; true when absent. */
  journalTexts?: boolean;
  /**
   * More programs for `file.exec`, by absolute path; a text is the path of another one that it is a
   * link to.
   */
  programs?: Readonly<Record<string, Program | string>>;
};

export type Device = {
  root: DeviceRoot;
  store: UciStore;
  writer: UciWriter;
  journal: Journal;
  clock: Clock;
  services: Services;
  faults: Faults;
  programs: ProgramRunner;
  bus: Bus;
  rpcd: Rpcd;
  fw4: Fw4;
  netifd: Netifd;
  mwan3: Mwan3;
  keepalived: Keepalived;
  /** Tables of nft beside fw4's. */
  policies: PolicyTables;
  /** What ICN's REST sets by iptables and ip; fw4 does not show here. */
  kernel: Kernel;
  /** What a commit of that package through ubus sets off. */
  configChanged: (packageName: string) => void;
  /** As a restarted container: factory configuration, no sessions. */
  restart: () => void;
};

export const createDevice = (options: DeviceOptions, stateDirectory: string): Device => {
  const clock = options.clock ?? createClock();
  const journal = openJournal(options, stateDirectory);
  const root = createDeviceRoot(options.rootDirectory ?? `${stateDirectory}/root`);
  const store = new UciStore({
    configDirectory: root.path(CONFIG_DIRECTORY),
    onWrite: (write) => journal.recordWrite(write),
  });
  const msPerKilobyte = options.writeMsPerKilobyte ?? 0;
  const writer = createUciWriter({ store, clock, msPerKilobyte });
  const services = createServices(journal);
  const { reloadMsPerRule = 0, reloadMs = 0 } = options;
  const fw4 = new Fw4({ root, store, services, clock, reloadMsPerRule, reloadMs });
  const netifd = new Netifd(store);
  const mwan3 = new Mwan3(store);
  const keepalived = createKeepalived(root, store);
  const policies = new PolicyTables();
  const charon = new Charon(store);
  const mounted = options.rootDirectory === undefined ? [] : mountedFiles(root);
  const ipsecScript = options.ipsecScript ?? 'icn';
  const scripts = Object.keys({ ...INIT_SCRIPTS, ...KEEPALIVED_SCRIPT }).map((name) =>
    name === 'ipsec' ? nameOf(ipsecScript) : name,
  );
  const boot = (why: string): void => {
    journal.add({ event: 'start', why });
    writeFactory(root, store, { ...options.factory, mounted });
    for (const path of scripts.map((name) => `/etc/init.d/${name}`))
      if (!mounted.includes(path)) writeBytes(root.path(path), '#!/bin/sh /etc/rc.common\n');
    writeBytes(root.path(`/etc/init.d/${nameOf(ipsecScript)}`), textOf(ipsecScript));
    fw4.boot();
    netifd.boot();
    mwan3.act('start');
    keepalived.boot();
    charon.boot();
  };
  boot('process');
  const kernel = createKernel(store, options.userRules);
  const programs = new ProgramRunner({
    clock,
    timeoutMs: options.execTimeoutMs,
    programs: {
      ...deviceProgramsOf(
        {
          root,
          store,
          writer,
          services,
          fw4,
          netifd,
          mwan3,
          keepalived,
          policies,
          charon,
          clock,
          journal,
        },
        Object.fromEntries(scripts.map((name) => [name, options.serviceMs?.[name] ?? 0])),
      ),
      [`/etc/init.d/${nameOf(ipsecScript)}`]: createIpsecScript(ipsecScript, {
        root,
        store,
        services,
        clock,
        takesMs: options.serviceMs?.['ipsec'] ?? 0,
      }),
      ...options.programs,
    },
  });
  const bus = new Bus();
  bus.add('system', createSystemObject(clock));
  bus.add('service', createServiceObject(store));
  bus.add('network.interface', createInterfaceObject(store));
  bus.add('mwan3', createMwan3Object(store));
  bus.add('rc', createRcObject(programs, store));
  const configChanged = (name: string): void => {
    if (options.procdReloads) reloadByProcd(programs, name);
  };
  const rpcd = new Rpcd({
    root,
    store,
    writer,
    programs,
    journal,
    clock,
    bus,
    uciMsPerKilobyte: options.uciMsPerKilobyte ?? 0,
    onConfigChange: configChanged,
  });
  const restart = (): void => {
    boot('restart');
    kernel.boot();
    rpcd.restart();
  };
  const faults = createFaults();
  return {
    root,
    store,
    writer,
    journal,
    clock,
    services,
    faults,
    programs,
    bus,
    rpcd,
    fw4,
    netifd,
    mwan3,
    keepalived,
    policies,
    kernel,
    configChanged,
    restart,
  };
};

/** On a test's own clock the journal tells its times, from the real one on. */
const openJournal = ({ clock, journalTexts }: DeviceOptions, stateDirectory: string): Journal => {
  const startMs = Date.now();
  return createJournal({
    path: `${stateDirectory}/journal.jsonl`,
    texts: journalTexts ?? true,
    ...(clock && { now: () => startMs + clock.nowMs() }),
  });
};

const deviceProgramsOf = (
  deps: Pick<
    Device,
    | 'root'
    | 'store'
    | 'writer'
    | 'services'
    | 'fw4'
    | 'netifd'
    | 'mwan3'
    | 'keepalived'
    | 'policies'
    | 'clock'
    | 'journal'
  > & { charon: Charon },
  scripts: Readonly<Record<string, number>>,
): Record<string, Program> => ({
  ...Object.fromEntries(
    Object.entries(scripts).map(([service, takesMs]) => [
      `/etc/init.d/${service}`,
      createInitScript(service, { ...deps, takesMs, acts: actsOf(service, deps) }),
    ]),
  ),
  '/etc/init.d/firewall': deps.fw4.program,
  '/sbin/fw4': deps.fw4.program,
  '/sbin/uci': createUci(deps),
  '/bin/dd': createDd(deps.root),
  ...(existsSync(deps.root.path(KERNEL_HELPER_PATH)) && {
    [KERNEL_HELPER_PATH]: createKernelHelper(deps),
  }),
  ...(Object.hasOwn(scripts, 'swanctl')
    ? { '/usr/sbin/swanctl': deps.charon.program }
    : { '/usr/sbin/ipsec': createIpsec(deps.store) }),
});

const actsOf =
  (
    service: string,
    { netifd, mwan3, keepalived }: Pick<Device, 'netifd' | 'mwan3' | 'keepalived'>,
  ) =>
  (action: string): void => {
    if (service === 'keepalived') keepalived.act(action);
    if (service === 'network' && action === 'reload') netifd.reload();
    if (service === 'network' && action === 'restart') netifd.boot();
    if (service !== 'mwan3') return;
    if (['reload', 'restart', 'stop'].includes(action)) netifd.flushByMwan3();
    if (['start', 'reload', 'restart', 'stop'].includes(action)) mwan3.act(action);
  };

/** procd's trigger on `config.change`; all services but one bear their package's name. */
const reloadByProcd = (programs: ProgramRunner, packageName: string): void => {
  const script =
    programs.find(`/etc/init.d/${packageName}`) ??
    (packageName === 'ipsec' ? programs.find('/etc/init.d/swanctl') : undefined);
  if (script !== undefined) void programs.run(script, ['reload'], { call: 'procd' });
};
