/**
 * An agent's middle on a device whose time stands still until the test moves it, and what a test
 * may do to both: have calls fail, kill the agent, restart either, and look from outside. The
 * agent's reports are judged at the moment at which it makes them, by the device's journal: what
 * counts is the file that a service has taken.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { revisionOf } from '#shared/compile/revision.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { parseNetworks } from '#shared/compile/networks.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import { openLedger } from '../../../agent/reconcile/ledger.ts';
import { createUbusDriver } from '../../../agent/openwrt/ubus/driver.ts';
import { openUnconfirmed } from '../../../agent/openwrt/ubus/write/unconfirmed.ts';
import { openLastGood } from '../../../agent/reconcile/last-good.ts';
import { createKernelDrift } from '../../../agent/reconcile/kernel-repair.ts';
import { createPace } from '../../../agent/reconcile/pace.ts';
import { createPass } from '../../../agent/reconcile/pass.ts';
import { withoutCommitConfirm } from '../../../agent/commit-confirm/commit-confirm.ts';
import { createRefusals } from '../../../agent/reconcile/refusals.ts';
import { NOTHING_KNOWN } from '../../../agent/reconcile/rule-states.ts';
import { NO_RESTART } from '../../../agent/reconcile/testing.ts';
import { buildReports } from '../../../agent/report/build.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { createManualClock as createDeviceClock } from '../../openwrt/simulator/clock.ts';
import type { Factory } from '../../openwrt/simulator/factory/factory.ts';
import type { Program } from '../../openwrt/simulator/programs/runner.ts';
import { startSimulator, type Simulator } from '../../openwrt/simulator/simulator.ts';
import { logIn, type TestClient } from '../../openwrt/simulator/test-client.ts';
import { liesIn, readJournal } from './true-reports.ts';
import { NETWORKS } from './rules.ts';
import { stagedRights } from './staged-rights.ts';

export const PACKAGES = [...new Set(kinds.flatMap(({ uci }) => (uci ? [uci.package] : [])))];
const LOGIN = { username: 'sdewan', password: 'agent-pw' };
const ROOT = { username: 'root', password: 'root-pw' };
const NEVER = new AbortController().signal;
const DEVICES = { defaultRoute: 'eth0', byAddress: new Map<string, string>() };
/**
 * More than the timer of an apply without confirmation, and than the restart of an rpcd that died.
 */
const LONG_ENOUGH_MS = 31_000;
const MOST_TRIES = 8;
/** The agent has its state written to the disk each time, for which tests would mostly wait. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * The two ways to write (docs/drivers.md), each with a login of the agent's own that may just do
 * that.
 */
export const PATHS = ['fast', 'staged'] as const;
/**
 * `root`: the staged path, with the administrator's own login, which may not reload: procd does.
 */
export type Path = (typeof PATHS)[number] | 'root';

export type Agent = {
  driver: Driver;
  pass: (rules: readonly RuleObject[], unservedKinds?: readonly string[]) => Promise<unknown>;
  /**
   * Passes until one gets through; after each that does not, all that OpenWRT does by itself has
   * happened.
   */
  converge: (rules: readonly RuleObject[]) => Promise<void>;
  /** `Applied`, `Pending: Removing` … by name of the rule. */
  states: () => Record<string, string>;
  messageOf: (name: string) => string | undefined;
  generationInForce: (name: string) => number | undefined;
};

export type Fixture = {
  simulator: Simulator;
  /** Lets OpenWRT's time pass. */
  passDeviceTime: (ms: number) => void;
  /** A second one is the agent after a restart of its container. */
  open: () => Promise<Agent>;
  /** An administrator at rpcd. */
  logInAsAdmin: () => Promise<TestClient>;
  text: (uciPackage: string) => string;
  /** As an administrator with an editor. */
  write: (uciPackage: string, text: string) => void;
  sections: (uciPackage: string) => DeviceSection[];
  names: (uciPackage: string) => (string | undefined)[];
  /** What any agent has reported and was not so. */
  lies: () => readonly string[];
  stop: () => Promise<void>;
};

export const startFixture = async (
  path: Path,
  programs: Readonly<Record<string, Program>> = {},
): Promise<Fixture> => {
  const folder = mkdtempSync(join(MEMORY, 'truth-'));
  const inFolder = (name: string): string => join(folder, name);
  const { username, password } = path === 'root' ? ROOT : LOGIN;
  writeFileSync(inFolder('username'), username);
  writeFileSync(inFolder('password'), password);
  const clock = createDeviceClock();
  const simulator = await startSimulator({
    clock,
    programs,
    procdReloads: path === 'root',
    factory: { rootPassword: ROOT.password, ...rightsOn(path) },
  });
  const target = {
    url: simulator.url,
    usernameFile: inFolder('username'),
    passwordFile: inFolder('password'),
  };
  const lies: string[] = [];
  /** Uids of rules of earlier passes: they may be reported until nothing of them is left. */
  const left = new Set<string>();
  const journal = readJournal(simulator.journalPath);
  const drivers: Driver[] = [];

  const open = async (): Promise<Agent> => {
    // What the driver waits for within a pass is that no client writes, which is so here.
    const agentClock = { ...createManualClock(), sleep: async () => {} };
    const surroundings = { clock: agentClock, log: silentLogger };
    const unconfirmed = await openUnconfirmed(inFolder('unconfirmed.json'), silentLogger);
    const driver = createUbusDriver({ target, packages: PACKAGES, unconfirmed, ...surroundings });
    drivers.push(driver);
    let standing = NOTHING_KNOWN;
    const reports = () => buildReports({ standing, reading: 'holds', problem: '' });
    let rules: readonly RuleObject[] = [];
    const runPass = createPass({
      commitConfirm: withoutCommitConfirm,
      driver,
      kinds,
      ledger: await openLedger(inFolder('ledger.json'), silentLogger),
      lastGood: await openLastGood(inFolder('last-good.json'), silentLogger),
      refusals: createRefusals(agentClock, revisionOf),
      kernelDrift: createKernelDrift(agentClock),
      restart: NO_RESTART,
      pace: createPace(agentClock),
      clock: agentClock,
      onStanding: (next) => {
        standing = next;
        lies.push(...liesIn(reports(), { rules, left }, journal));
      },
      onDrift: () => undefined,
      onKeptWrong: () => {
        throw new Error('a plan is another with all rules anew');
      },
      onTransaction: () => undefined,
    });
    const pass: Agent['pass'] = (now, unservedKinds = []) => {
      for (const { metadata } of rules) left.add(metadata.uid);
      rules = now;
      const networks = parseNetworks(NETWORKS);
      const known = { networks, devices: DEVICES, secrets: new Map(), unservedKinds };
      const input = { rules, ...known, paused: false, quiet: false };
      return runPass(input, NEVER);
    };
    return {
      driver,
      pass,
      converge: async (now) => {
        for (let tries = 1; ; tries += 1) {
          const failure: unknown = await pass(now).then(() => undefined, identity);
          if (failure === undefined) return;
          if (tries === MOST_TRIES) throw new Error('no pass got through', { cause: failure });
          clock.advance(LONG_ENOUGH_MS);
        }
      },
      states: () =>
        Object.fromEntries(
          reports().map(({ name, state, reason }) => [
            name,
            state === reason || state === 'Applied' ? state : `${state}: ${reason}`,
          ]),
        ),
      messageOf: (name) => reports().find((report) => report.name === name)?.message,
      generationInForce: (name) =>
        reports().find((report) => report.name === name)?.generationInForce,
    };
  };

  const pathOf = (name: string): string => join(simulator.configDirectory, name);
  const text = (name: string): string => readFileSync(pathOf(name), 'utf8');
  const sections = (name: string): DeviceSection[] => readUci(text(name));
  return {
    simulator,
    passDeviceTime: clock.advance,
    open,
    logInAsAdmin: () => logIn(simulator.url, ROOT.username, ROOT.password),
    text,
    write: (name, content) => writeFileSync(pathOf(name), content),
    sections,
    names: (name) => sections(name).map((section) => section.name),
    lies: () => lies,
    stop: async () => {
      simulator.faults.clear();
      await Promise.all(drivers.map((driver) => driver.close()));
      journal.close();
      await simulator.stop();
      rmSync(folder, { recursive: true });
    },
  };
};

const rightsOn = (path: Path): Factory => {
  if (path === 'root') return {};
  return { agent: LOGIN, ...(path === 'staged' && { aclFiles: stagedRights(PACKAGES) }) };
};

const identity = (reason: unknown): unknown => reason;

/**
 * All that a death of the agent leaves on OpenWRT: its `at`th call is executed, and it receives and
 * does nothing after that. Returns whether it came that far.
 */
export const dieAt = async (
  { simulator: { faults } }: Fixture,
  at: number,
  work: () => Promise<unknown>,
): Promise<boolean> => {
  const reset = { action: { kind: 'reset' } } as const;
  faults.add({ ...reset, when: 'after', skip: at, times: 1 });
  faults.add({ ...reset, skip: at + 1 });
  const died = await work().then(
    () => false,
    () => true,
  );
  faults.clear();
  return died;
};
