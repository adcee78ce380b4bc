/**
 * Walks through the states that operators bring rules into: forwards, backwards, at random, with states repeated, left out
 * or emptied in between, and with a restart of the agent or of OpenWRT after each. Wherever a walk comes from, OpenWRT ends
 * with exactly what the rules of the moment compile to, and with everything that was not ours.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compile } from '#shared/compile/compile.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { parseNetworks } from '#shared/compile/networks.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { randomOfTest } from '../../run/random.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import {
  cr,
  firewallRule,
  openPass,
  PACKAGES,
  SEED_NETWORKS,
  zone,
  type TestPass,
} from './support/pass.ts';

type State = readonly RuleObject[];

const lan = zone('lan1', 'ovn-net1');
const wan = zone('wan1', 'ovn-net2', { masq: '1' });
const policy = cr('Mwan3Policy', 'balance1', {
  members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
});
const multiWan = cr('Mwan3Rule', 'http-rule', {
  policy: 'balance1',
  dest_port: '80',
  proto: 'tcp',
});
const first = { annotations: { [ORDER_ANNOTATION]: '-1' } };
const deleting = { deletionTimestamp: '2026-01-02T00:00:00Z' };

const STATES: readonly State[] = [
  [lan],
  [lan, firewallRule('a'), firewallRule('b')],
  // The last becomes the first, and the first changes.
  [lan, firewallRule('a', { dest_port: '81' }), firewallRule('b', {}, first)],
  [lan, wan, cr('FirewallForwarding', 'f', { src: 'lan1', dest: 'wan1' }), policy, multiWan],
  // A zone in use is being deleted: it stays.
  [{ ...lan, metadata: { ...lan.metadata, ...deleting } }, wan, firewallRule('a'), policy],
  // A rule before its zone, and a name that an administrator has.
  [firewallRule('a', { src: 'later' }), cr('Mwan3Policy', 'admin_only', policy.spec as object)],
  [lan, wan, policy, multiWan, firewallRule('c', { proto: ['tcp', 'udp'], src_ip: '10.0.0.0/8' })],
];

const WALKS: Record<string, readonly State[]> = {
  forwards: STATES,
  backwards: STATES.toReversed(),
  'every state twice': STATES.flatMap((state) => [state, state]),
  'every other state': STATES.filter((_state, at) => at % 2 === 0),
  'emptied in between': STATES.flatMap((state) => [state, []]),
};

let openwrt: TestOpenwrt;
let agent: TestPass;
let foreign: Record<string, UciText>;
type UciText = ReturnType<TestOpenwrt['sections']>;

beforeEach(async () => {
  openwrt = await startOpenwrt();
  agent = await openPass(openwrt);
  foreign = Object.fromEntries(PACKAGES.map((name) => [name, openwrt.sections(name)]));
});
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

/** What a fresh pod would have of these rules. */
const wanted = async (rules: State): Promise<ReadonlyMap<string, readonly UciSection[]>> => {
  const fresh = await startOpenwrt();
  const reader = await openPass(fresh);
  const { packages, capabilities } = await reader.driver.read(new AbortController().signal);
  await reader.driver.close();
  await fresh.stop();
  return compile({
    rules,
    networks: parseNetworks(SEED_NETWORKS),
    capabilities,
    lastGood: new Map(),
    observed: packages,
    ledger: new Set(),
    refused: new Map(),
  }).desired;
};

const expectExactly = async (rules: State): Promise<void> => {
  for (const [name, desired] of await wanted(rules)) {
    // No package of UCI; none of these rules has certificates.
    if (name === deviceFiles.name) continue;
    const ours = desired.map(({ name: section, type, options }) => ({
      name: section,
      type,
      options,
    }));
    const before = foreign[name] ?? [];
    expect(openwrt.sections(name)).toEqual([...before, ...ours]);
  }
};

const interludes: Record<string, () => Promise<void>> = {
  'nothing in between': async () => undefined,
  'a restart of the agent after each': async () => {
    await agent.driver.close();
    agent = await openPass(openwrt);
  },
  'a restart of OpenWRT after each': async () => {
    openwrt.simulator.restart();
  },
};

/** Of the walk at random. */
const STEPS = caseCount(10);

const expectRightAfter = async (state: State): Promise<void> => {
  await agent.converge(state);
  await expectExactly(state);
};

describe.each(Object.entries(interludes))('with %s', (_what, interlude) => {
  it.each(Object.entries(WALKS))('a walk %s ends right at each step', async (_how, states) => {
    for (const state of states) {
      await expectRightAfter(state);
      await interlude();
    }
  });
});

it(`a random walk of ${STEPS} steps converges at each step`, async () => {
  const random = randomOfTest();
  for (let step = 0; step < STEPS; step += 1) {
    await expectRightAfter(random.pick([...STATES, []]));
    await random.pick(Object.values(interludes))();
  }
});
