/**
 * What rules cost over ICN's REST: `node test/bench/icn.ts [rules …]`. Passes in this process on a simulator in it; the time of a
 * real CNF is that plus one CGI process per call (12 to 81 ms, measured). Prints a table.
 */
import type { RuleObject } from '#shared/kube/objects.ts';
import { icnDriver, startIcn } from '../integration/support/icn-rest.ts';
import { cr, firewallRule, openPass, zone } from '../integration/support/pass.ts';

const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [200, 1_000];

/** A tenth each of NAT, network rules, DNAT, policy rules and routes; the rest are firewall rules. */
const mixed = (count: number): RuleObject[] => [
  zone('lan1', 'ovn-net1'),
  zone('wan1', 'ovn-net2'),
  ...Array.from({ length: count - 2 }, (_, at) => {
    const net = `10.${at >> 8}.${at & 255}.0/24`;
    const port = 1_024 + at;
    const specs: readonly [string, object][] = [
      ['CNFNAT', { target: 'SNAT', src_dip: '172.16.30.10', dest: 'net1', src_ip: net }],
      ['NetworkFirewallRule', { src: 'net1', proto: 'tcp', dest_port: port, target: 'DROP' }],
      ['FirewallDNAT', { src: 'wan1', proto: 'tcp', src_dport: port, dest_ip: '192.168.1.2' }],
      ['CNFRouteRule', { src: net, table: '40' }],
      ['CNFRoute', { dst: net, gw: '172.16.30.1', dev: 'net1', table: 'cnf' }],
    ];
    const [kind, spec] = specs[at % 10] ?? ['FirewallRule', undefined];
    return spec
      ? cr(kind, `r-${at}`, spec)
      : firewallRule(`r-${at}`, { src_ip: net, dest_port: String(port) });
  }),
];

const measure = async (count: number): Promise<void> => {
  const openwrt = await startIcn({ journalTexts: false });
  const agent = await openPass(openwrt, { driver: icnDriver(openwrt) });
  const { simulator } = openwrt;
  const run = async (what: string, rules: readonly RuleObject[]): Promise<void> => {
    const calls = simulator.restCalls().length;
    const startedAt = performance.now();
    await agent.run(rules);
    const ms = performance.now() - startedAt;
    const made = simulator.restCalls().slice(calls);
    const services = made.filter((call) => call.includes('/service/')).length;
    const lists = made.filter((call) => call.startsWith('GET ')).length;
    const states = new Set(Object.values(agent.states()));
    const columns = [count, what, made.length, lists, made.length - lists - services, services];
    console.log(
      `| ${columns.join(' | ')} | ${(ms / 1_000).toFixed(1)} s | ${[...states].join(', ')} |`,
    );
  };
  const rules = mixed(count);
  const changed = rules.map((rule, at) =>
    at === 7 ? firewallRule(rule.metadata.name, { src_ip: '10.0.5.0/25', dest_port: '80' }) : rule,
  );
  await run('all new', rules);
  await run('nothing', rules);
  await run('one changed', changed);
  await run('all removed', []);
  await agent.driver.close();
  await openwrt.stop();
};

console.log('| rules | what | calls | lists | writes | service actions | time | states |');
console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
for (const size of SIZES) await measure(size);
