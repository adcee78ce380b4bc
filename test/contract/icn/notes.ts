/**
 * The notes of the second recording: commands run before an exchange, commands that it issued, and
 * the kernel's state after it.
 */
import type { Simulator } from '../../openwrt/simulator/simulator.ts';
import type { Exchange } from '../recordings/read.ts';

export type Step = { simulator: Simulator; exchange: Exchange };

/** What the rig did by hand, as far as an answer depends on it. */
export const stepsBefore = ({ simulator, exchange: { name, note = '' } }: Step): void => {
  for (const command of UNTOLD[name] ?? []) simulator.kernel.run(command);
  if (name.endsWith('after net1 went down and up')) simulator.kernel.routes.linkDown('net1');
  stepsWithUci(simulator, note);
  for (const [, told = ''] of note.matchAll(/(?:^|\n)before: (?!#)([^\n]*)/g))
    for (const [command] of told.matchAll(/\bip (?:route|rule) (?:add|del) [^;]+/g))
      simulator.kernel.run(command.trim());
};

const stepsWithUci = ({ store, rootDirectory }: Simulator, note: string): void => {
  const by = { call: 'rig' };
  if (note.includes('the rig removed the section n8 with uci'))
    store.replace('firewall-rule', '', by);
  if (!note.includes('the rig reverted the staged section with uci')) return;
  for (const name of ['firewall-rule', 'route-cnf'].filter((one) => store.list().includes(one)))
    store.revert(name, `${rootDirectory}/tmp/.uci`);
};

/** By exchange: what the rig must have removed before it, since later outputs lack it. */
const UNTOLD: Readonly<Record<string, readonly string[]>> = {
  'nf: POST as the ICN Go controller sends it': [
    'iptables -D INPUT -i eth0 -s 192.168.1.0/24 -p tcp -m tcp --dport 24 -j ACCEPT',
  ],
  'nat: POST as the ICN Go controller sends it': [
    'iptables -t nat -D POSTROUTING -o net1 -p tcp -s 192.168.1.0/24 --sport 1000 -d 8.8.8.8 --dport 53 -j SNAT --to-source 10.10.70.39:2000',
  ],
  'nat: POST dest #default with default route': [
    'iptables -t nat -D POSTROUTING -j SNAT --to-source 10.10.70.39',
  ],
  'nat: POST MASQUERADE tcp': [
    'iptables -t nat -D POSTROUTING -o net1 -s 192.168.1.0/24 -j MASQUERADE',
    'ip route del default',
  ],
  'route: POST same dst, other name': ['ip route del table 40 10.99.3.0/24'],
  'rule: POST same selector twice, first': ['ip rule del prio 102 lookup 40'],
  'rule: POST dash in the name': [
    'ip rule del from 10.1.10.0/24 lookup 40',
    'ip rule del from 10.1.10.0/24 lookup 40',
  ],
  'app: POST dot in the name': [
    'ip rule del from 10.244.0.20 lookup 40',
    'ip rule del from 10.244.0.20 lookup 40',
  ],
  'app: POST missing name': ['ip rule del from 10.244.0.21 lookup 40'],
  'status: GET rule': [
    'ip rule add prio 100 from 192.168.1.0/24 to 10.99.0.0/16 lookup 40 fwmark 0x10',
    'ip rule add not prio 150 from 10.5.0.0/16 lookup main',
  ],
  'interplay: POST nat DNAT': [
    'ip rule del prio 100 lookup 40',
    'ip rule del prio 150 lookup main',
    'ip route del default',
  ],
};

/** What the exchange issued here and on the rig; both empty where the record has nothing. */
export const commandsOf = (
  { exchange, simulator }: Step,
  before: number,
): { here: readonly string[]; recorded: readonly string[] } => {
  const recorded = recordedCommands(exchange);
  return recorded
    ? { here: simulator.kernel.commands.slice(before), recorded }
    : { here: [], recorded: [] };
};

const recordedCommands = ({ note = '' }: Exchange): string[] | undefined => {
  const [, issued] = /stderr of the CGI: ([\s\S]*?)(?=\nafter: |$)/.exec(note) ?? [];
  return issued
    ?.split('\n')
    .filter((line) => /^(?:iptables (?:-[ADI]|-t) |ip (?:rule|route) (?:add|del))/.test(line));
};

export type State = { command: string; lines: readonly string[]; here: readonly string[] };

/** The outputs after the exchange that the simulator's kernel can give as well. */
export const stateIn = ({ simulator: { kernel }, exchange: { note = '' } }: Step): State[] =>
  [...note.matchAll(/(?:^|\n)after: # ([^\n]*)\n([\s\S]*?)(?=\nafter: |$)/g)].flatMap(
    ([, command = '', output = '']) => {
      const here = outputs(kernel)[command];
      const lines = output
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
      return here ? [{ command, lines, here: here() }] : [];
    },
  );

const outputs = (kernel: Simulator['kernel']): Readonly<Record<string, () => string[]>> => ({
  "iptables -S | grep '^-A' | grep -v '!fw3'": () => kernel.iptables('filter'),
  "iptables -t nat -S | grep '^-A' | grep -v '!fw3'": () => kernel.iptables('nat'),
  "iptables -t mangle -S | grep '^-A' | grep -v '!fw3'": () => kernel.iptables('mangle'),
  'ip rule': () => kernel.ipRules.lines(),
  'ip route show table 40': () => kernel.routes.lines('40'),
  'ip route': () => kernel.routes.lines('main'),
});
