/**
 * Passes without an API server: the agent's middle on a simulator, with rules of the test, on one
 * clock.
 */
import { join } from 'node:path';
import { revisionOf } from '#shared/compile/revision.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { parseNetworks } from '#shared/compile/networks.ts';
import type { RuleReport } from '#shared/protocol/report.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { Driver } from '../../../../agent/openwrt/driver.ts';
import {
  withoutCommitConfirm,
  type CommitConfirm,
} from '../../../../agent/commit-confirm/commit-confirm.ts';
import { openLedger } from '../../../../agent/reconcile/ledger.ts';
import { createUbusDriver } from '../../../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../../../agent/openwrt/ubus/write/testing.ts';
import { openUnconfirmed } from '../../../../agent/openwrt/ubus/write/unconfirmed.ts';
import { openLastGood } from '../../../../agent/reconcile/last-good.ts';
import { createKernelDrift } from '../../../../agent/reconcile/kernel-repair.ts';
import { createPace } from '../../../../agent/reconcile/pace.ts';
import { createPass, type PassDeps } from '../../../../agent/reconcile/pass.ts';
import { createRefusals } from '../../../../agent/reconcile/refusals.ts';
import { NOTHING_KNOWN, type RuleStates } from '../../../../agent/reconcile/rule-states.ts';
import { NO_RESTART } from '../../../../agent/reconcile/testing.ts';
import { buildReports } from '../../../../agent/report/build.ts';
import { converge, follow, type Effort, type Following, type LoopParts } from './converge.ts';
import type { TestOpenwrt } from './openwrt.ts';
import { timed } from './time.ts';

export const PACKAGES = [...new Set(kinds.flatMap(({ uci }) => (uci ? [uci.package] : [])))];

export type TestPass = {
  /** As the pass has it; each call lets time pass until it is done. */
  driver: Driver;
  run: (rules: readonly RuleObject[], signal?: AbortSignal) => Promise<string>;
  /**
   * Runs the agent's loop until a pass gets through. @throws Error when that takes more than `most`
   * (one try when absent)
   */
  converge: (rules: readonly RuleObject[], most?: Effort) => Promise<Effort>;
  /**
   * Runs the agent's loop beside the test, for what OpenWRT does by itself. No rules: the API
   * server has listed none yet.
   */
  follow: (rules: () => readonly RuleObject[] | undefined) => Following;
  reports: () => RuleReport[];
  /** `Applied`, `Failed: NameTaken` … by name of the rule. */
  states: () => Record<string, string>;
  /** `package name` of what ICN's controller has left. */
  leftOvers: () => string[];
  driftRepairs: () => number;
  transactions: () => string[];
};

/** The networks of the pod, from its annotation. */
export const SEED_NETWORKS = JSON.stringify({
  type: 'ovn4nfv',
  interface: [
    { defaultGateway: 'false', interface: 'net0', name: 'ovn-priv-net' },
    { defaultGateway: 'false', interface: 'net1', name: 'ovn-net1' },
    { defaultGateway: 'false', interface: 'net2', name: 'ovn-net2' },
  ],
});

const DEVICES = {
  defaultRoute: 'eth0',
  byAddress: new Map([
    ['172.16.20.10', 'net0'],
    ['172.16.30.10', 'net1'],
  ]),
};
const NO_SECRETS: ReadonlyMap<string, string> = new Map();
const NEVER = new AbortController().signal;

/** An agent's settings for its OpenWRT; the simulator's, or that of a real device. */
export type Place = Pick<TestOpenwrt, 'clock' | 'folder' | 'usernameFile' | 'passwordFile'> & {
  simulator: Pick<TestOpenwrt['simulator'], 'url'>;
};

/** One alone, each of whose calls lets time pass until it is done. `more`: of its target. */
export const ubusDriver = (
  { simulator, clock, usernameFile, passwordFile }: Place,
  packages: readonly string[] = PACKAGES,
  more: { url?: string; caFile?: string; serverName?: string } = {},
): Driver =>
  timed(
    createUbusDriver({
      packages,
      unconfirmed: unconfirmedInMemory(),
      target: { url: simulator.url, usernameFile, passwordFile, ...more },
      clock: clock.agent,
      log: silentLogger,
    }),
    clock,
  );

/** A second one in the same folder is the agent after a restart of its container. */
export const openPass = async (
  openwrt: Place,
  options: {
    networks?: string;
    driver?: Driver;
    secrets?: ReadonlyMap<string, string>;
    commitConfirm?: (driver: Driver) => CommitConfirm;
    restart?: PassDeps['restart'];
  } = {},
): Promise<TestPass> => {
  const { clock } = openwrt;
  const driver =
    options.driver ??
    createUbusDriver({
      packages: PACKAGES,
      unconfirmed: await openUnconfirmed(join(openwrt.folder, 'unconfirmed.json'), silentLogger),
      clock: clock.agent,
      log: silentLogger,
      target: {
        url: openwrt.simulator.url,
        usernameFile: openwrt.usernameFile,
        passwordFile: openwrt.passwordFile,
      },
    });
  const refusals = createRefusals(clock.agent, revisionOf);
  const kernelDrift = createKernelDrift(clock.agent);
  const pace = createPace(clock.agent);
  let standing: RuleStates = NOTHING_KNOWN;
  let drift = 0;
  const transactions: string[] = [];
  const commitConfirm = options.commitConfirm?.(driver) ?? withoutCommitConfirm;
  const lastGood = await openLastGood(join(openwrt.folder, 'last-good.json'), silentLogger);
  const hasPast = lastGood.current().size > 0;
  const pass = createPass({
    driver,
    commitConfirm,
    kinds,
    ledger: await openLedger(join(openwrt.folder, 'ledger.json'), silentLogger, { hasPast }),
    lastGood,
    refusals,
    kernelDrift,
    restart: options.restart ?? NO_RESTART,
    pace,
    clock: clock.agent,
    onStanding: (next) => {
      standing = next;
    },
    onDrift: () => {
      drift += 1;
    },
    onTransaction: (outcome) => transactions.push(outcome),
    onKeptWrong: () => {
      throw new Error('a plan is another with all rules anew');
    },
  });
  const networks = parseNetworks(options.networks ?? SEED_NETWORKS);
  const { secrets = NO_SECRETS } = options;
  const known = { networks, devices: DEVICES, secrets, unservedKinds: [], paused: false };
  const run = (rules: readonly RuleObject[], signal = NEVER): Promise<string> =>
    clock.until(pass({ ...known, rules, quiet: false }, signal));
  const loopParts = (rules: () => readonly RuleObject[] | undefined): LoopParts => ({
    driver,
    rescue: commitConfirm.rescue,
    pass,
    refusals,
    kernelDrift,
    pace,
    source: {
      rules: () => [...(rules() ?? [])],
      unknownKinds: () => (rules() === undefined ? kinds.map(({ kind }) => kind) : []),
      unservedKinds: () => [],
    },
    secrets: {
      follow: () => {},
      values: () => secrets,
      unread: () => new Map(),
      unknown: () => [],
    },
    networks: () => ({ networks }),
    devices: () => DEVICES,
    place: () => ({ distance: 3, peers: new Map() }),
    onPlaced: () => {},
    paused: () => false,
  });
  const reports = (): RuleReport[] =>
    buildReports({
      standing,
      reading: 'holds',
      problem: '',
    });
  return {
    driver: timed(driver, clock),
    run,
    converge: (rules, most) =>
      converge(
        loopParts(() => rules),
        clock,
        most,
      ),
    follow: (rules) => follow(loopParts(rules), clock),
    reports,
    states: () =>
      Object.fromEntries(
        reports().map(({ name, state, reason }) => [
          name,
          state === reason || state === 'Applied' ? state : `${state}: ${reason}`,
        ]),
      ),
    leftOvers: () =>
      standing.leftOvers.map(({ package: uciPackage, name }) => `${uciPackage} ${name}`),
    driftRepairs: () => drift,
    transactions: () => transactions,
  };
};

let counter = 0;

/** A rule CR as the API server would show it. */
export const cr = (
  kind: string,
  name: string,
  spec: object,
  metadata: Partial<RuleObject['metadata']> = {},
): RuleObject => {
  counter += 1;
  return {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind,
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-of-${kind}-${name}`,
      resourceVersion: String(counter),
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { sdewanPurpose: 'cnf-1' },
      ...metadata,
    },
    spec,
  };
};

/** The same while it is being deleted. */
export const deleted = (rule: RuleObject): RuleObject => ({
  ...rule,
  metadata: { ...rule.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' },
});

export const zone = (name: string, network: string, options: object = {}): RuleObject =>
  cr('FirewallZone', name, { network: [network], input: 'ACCEPT', ...options });

export const firewallRule = (
  name: string,
  options: object = {},
  metadata: Partial<RuleObject['metadata']> = {},
): RuleObject =>
  cr(
    'FirewallRule',
    name,
    { src: 'lan1', proto: 'tcp', dest_port: '80', target: 'REJECT', ...options },
    metadata,
  );
