/**
 * An agent's middle and a device on one clock, with hands to write what the agent is writing. Every
 * ubus call takes a millisecond, so each moment between two of them is one of the clock's times.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { firewallRule, openPass, zone, type TestPass } from '../agent/support/pass.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import type { Effort } from '../agent/support/converge.ts';
import type { TestClock } from '../agent/support/time.ts';

export const RELOAD_MS = 4;
const MOST: Effort = { tries: 8, ms: 60_000 };

export const BEFORE: readonly RuleObject[] = [
  zone('lan1', 'ovn-net1'),
  firewallRule('stays'),
  firewallRule('goes', { dest_port: '3' }),
];
export const AFTER: readonly RuleObject[] = [
  ...BEFORE.filter(({ metadata }) => metadata.name !== 'goes'),
  firewallRule('comes', { dest_port: '4' }),
];
/** The content of AFTER. */
export const OURS = ['sdewan_zone_lan1', 'sdewan_rule_comes', 'sdewan_rule_stays'];

export type Bench = {
  clock: TestClock;
  openwrt: TestOpenwrt;
  /** Brings the rules about, however often others are in the way. */
  converge: (rules: readonly RuleObject[]) => Promise<Effort>;
  agent: TestPass;
  /** The device as it was with BEFORE, and an agent that knows it so. */
  again: () => Promise<void>;
  /** Works of both sides, begun at once: gives the milliseconds that they took. */
  together: (...works: Promise<unknown>[]) => Promise<number>;
  ours: () => string[];
  foreign: () => DeviceSection[];
  /** An administrator's hands. Each adds the section `admin`. */
  byShell: () => Promise<void>;
  byEditor: () => Promise<void>;
  /**
   * Whether a call of the driver came within one millisecond after what was committed by the shell.
   * Between its last look and that call nothing keeps others from writing.
   */
  wasUndoneBy: (call: string) => boolean;
  stop: () => Promise<void>;
};

export const ADMIN = `config rule 'admin'\n\toption name 'admin'\n\toption target 'DROP'\n\n`;

export const openBench = async (
  options: (openwrt: () => TestOpenwrt) => OpenwrtOptions = () => ({}),
): Promise<Bench> => {
  const openwrt: TestOpenwrt = await startOpenwrt({
    // Each call takes its millisecond, and a reload some.
    uciMsPerKilobyte: 0,
    reloadMsPerRule: 0,
    reloadMs: RELOAD_MS,
    journalTexts: false,
    ...options(() => openwrt),
  });
  const { simulator, clock } = openwrt;
  const agent = await openPass(openwrt);
  const converge: Bench['converge'] = (rules) => agent.converge(rules, MOST);
  await converge(BEFORE);
  const text = openwrt.text('firewall');
  const isOurs = ({ name }: DeviceSection): boolean => name?.startsWith('sdewan_') === true;
  const shell = (...params: string[]) => simulator.shell('/sbin/uci', ...params);
  return {
    clock,
    openwrt,
    converge,
    agent,
    again: async () => {
      simulator.faults.clear();
      simulator.store.replace('firewall', text, { call: 'as before' });
      await converge(BEFORE);
      simulator.faults.add({ action: { kind: 'delay', ms: 1 } });
    },
    together: async (...works) => {
      const begin = clock.agent.monotonic();
      await clock.until(Promise.all(works));
      return clock.agent.monotonic() - begin;
    },
    ours: () =>
      openwrt
        .sections('firewall')
        .filter(isOurs)
        .map(({ name = '' }) => name),
    foreign: () => openwrt.sections('firewall').filter((section) => !isOurs(section)),
    byShell: async () => {
      await shell('set', 'firewall.admin=rule');
      await shell('set', 'firewall.admin.target=DROP');
      await shell('commit', 'firewall');
    },
    byEditor: () => simulator.edit('firewall', `${openwrt.text('firewall')}\n${ADMIN}`),
    wasUndoneBy: (call) => {
      const writes = simulator
        .journal()
        .flatMap((entry) => (entry.event === 'write' ? [{ by: entry.by.call, ms: entry.ms }] : []));
      const at = writes.findLastIndex(({ by }) => by === 'uci commit');
      const [theirs, next] = writes.slice(at, at + 2);
      return next?.by === call && next.ms - (theirs?.ms ?? 0) <= 1;
    },
    stop: async () => {
      simulator.faults.clear();
      await agent.driver.close();
      await openwrt.stop();
    },
  };
};
