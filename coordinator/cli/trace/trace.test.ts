import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnf, factsOf, twoNetworks } from '../cluster/testing.ts';
import { EXIT } from '../command.ts';
import { runCli } from '../testing.ts';
import { inCluster, tracedView } from '../../views/traced.ts';
import { packetIn } from '../../views/packet.ts';
import { traceText, traceViewSchema } from '../../views/trace.ts';
import { UsageError } from '../../views/usage-error.ts';

const rule = (kind: string, name: string, spec: string, purpose = 'cnf-1'): string =>
  `apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: ${kind}
metadata: {name: ${name}, labels: {sdewanPurpose: ${purpose}}}
spec: ${spec}
`;
const RULES = [
  rule('FirewallZone', 'lan', '{network: [net-a], input: ACCEPT, forward: REJECT}'),
  rule('FirewallZone', 'wan', '{network: [net-b], input: DROP, forward: DROP, masq: "1"}'),
  rule('FirewallForwarding', 'out', '{src: lan, dest: wan}'),
  rule(
    'FirewallRule',
    'no-smtp',
    '{src: lan, dest: wan, proto: tcp, dest_port: "25", target: REJECT}',
  ),
  rule(
    'FirewallDNAT',
    'web',
    '{src: wan, proto: tcp, src_dport: "8080", dest_ip: 10.0.1.5, dest_port: "80"}',
  ),
].join('---\n');
const FIREWALL = "config defaults\n\toption forward 'DROP'\n\toption input 'REJECT'\n";

const offline = (args: string, files: Record<string, string> = {}) =>
  runCli(['trace', '-f', 'r.yaml', '--networks', 'net-a=net1,net-b=net2', ...args.split(' ')], {
    files: { 'r.yaml': RULES, firewall: FIREWALL, ...files },
  });
const FROM_LAN = '--in net-a --src 10.0.1.2 --dst 192.0.2.7 --out net-b';
const lastLine = (text: string): string | undefined => text.trimEnd().split('\n').at(-1);

describe('sdewan trace without a cluster', () => {
  it.each([
    [`${FROM_LAN} --dport 25`, EXIT.no, 'rejected'],
    [
      `${FROM_LAN} --dport 80`,
      EXIT.done,
      'accepted: leaves by net2, from the address of net2 to 192.0.2.7 port 80',
    ],
    [
      '--in net-b --src 192.0.2.7 --dst 192.0.2.1 --dport 8080 --out net1',
      EXIT.done,
      'accepted: leaves by net1, from 192.0.2.7 to 10.0.1.5 port 80',
    ],
    ['--in net-a --src 10.0.1.2 --dst 10.0.1.3 --out net-a --proto icmp', EXIT.no, 'rejected'],
    [
      '--src 10.0.1.2 --dst 192.0.2.7 --out net-b --proto udp --dport 53',
      EXIT.unknown,
      'undecided: the section defaults decides, which is not known',
    ],
    [`${FROM_LAN} --dport 25 --in net9`.replace('--in net-a ', ''), EXIT.usage, undefined],
  ])('%s', async (args, code, last) => {
    const answer = await offline(args);
    expect([answer.code, lastLine(answer.out) || undefined]).toEqual([code, last]);
  });

  it('does not say what the section defaults does, which it does not know', async () => {
    const { out } = await offline('--src 10.0.1.2 --dst 192.0.2.7 --out net-b --proto udp');
    expect(out).toMatch(/filter +not known +policy output of zone wan/);
  });

  it('takes the sections of administrators from a file', async () => {
    const args = '--src 10.0.1.2 --dst 192.0.2.7 --out net-b --dport 53 --firewall firewall';
    const ours = await offline(args);
    expect([ours.code, lastLine(ours.out)]).toEqual([EXIT.no, 'dropped']);
    expect(ours.out).not.toContain('sections of administrators');
    const rule = `${FIREWALL}\nconfig rule ssh\n\toption src lan\n\toption dest wan\n\toption proto tcp\n\toption target DROP\n`;
    const theirs = await offline(`${FROM_LAN} --dport 25 --firewall firewall`, { firewall: rule });
    expect(theirs.code).toBe(EXIT.no);
    expect(theirs.out).toContain("administrator's section ssh");
  });

  it('says that it does not read the policies of IPsec, where a rule has some', async () => {
    const site = `{remote: 203.0.113.9, authentication_method: psk, pre_shared_key_from: {name: k, key: k}, crypto_proposal: [p],
      connections: [{name: c, conn_type: tunnel, mode: start}]}`;
    const rules = `${RULES}---\n${rule('IpsecSite', 'hq', site)}`;
    const { out } = await offline(FROM_LAN, { 'r.yaml': rules });
    expect(out).toContain('not known: the policies of IPsec');
    expect((await offline(FROM_LAN)).out).not.toContain('IPsec');
  });

  it('says what passed a rule by, and which zone it is in', async () => {
    const { out } = await offline(`${FROM_LAN} --dport 80`);
    expect(out).toMatch(/zone in +net1 is in zone lan/);
    expect(out).toMatch(
      /filter +accepted +FirewallForwarding\/out +FirewallRule\/no-smtp \(dest_port\)/,
    );
  });

  it('names what it cannot know in an if', async () => {
    const { code, out } = await offline('--in net-a --src 10.0.1.2 --dst 192.0.2.7 --dport 80');
    expect(code).toBe(EXIT.unknown);
    expect(lastLine(out)).toMatch(
      /^if 192\.0\.2\.7 is an address of the CNF itself: accepted by the CNF: .*; otherwise, if it leaves by net1: rejected; otherwise, if it leaves by net2: accepted: [^;]*; otherwise: undecided/,
    );
  });

  it('is JSON as its schema says', async () => {
    const { out } = await offline(`${FROM_LAN} --dport 25 -o json`);
    const view: unknown = JSON.parse(out);
    expect(traceViewSchema.parse(view)).toEqual(view);
    expect(view).toMatchObject({ cnf: 'cnf-1', answer: { isDecided: true } });
  });

  it.each([
    ['--in net-a --src 10.0.1 --dst 192.0.2.7', '--src 10.0.1: must be'],
    ['--in net-a --src 10.0.1.2 --dst fd00::1', 'one version of IP'],
    ['--in net-a --src 10.0.1.2 --dst 192.0.2.7 --proto foo', '--proto foo: must be'],
    ['--in net-a --src 10.0.1.2 --dst 192.0.2.7 --proto icmp --dport 1', 'has no ports'],
    ['--in net-a --src 10.0.1.2 --dst 192.0.2.7 --dport 80-90', 'must be one port'],
    ['--in net9 --src 10.0.1.2 --dst 192.0.2.7', 'the CNF has no network net9; it has net-a'],
  ])('is used wrongly with %s', async (args, words) => {
    const { code, said } = await offline(args);
    expect([code, said]).toEqual([EXIT.usage, [expect.stringContaining(words)]]);
  });

  it('asks for files of one CNF', async () => {
    const other = rule('FirewallZone', 'z', '{network: [net-a]}', 'cnf-2');
    const { code, said } = await offline(FROM_LAN, { 'r.yaml': `${RULES}---\n${other}` });
    expect([code, said]).toEqual([EXIT.usage, [expect.stringContaining('cnf-1, cnf-2')]]);
    expect(await runCli(['trace', '--src', '10.0.0.1', '--dst', '10.0.0.2'])).toMatchObject({
      code: EXIT.usage,
    });
  });
});

describe('sdewan trace of a CNF', () => {
  const zone = (name: string, network: string): RuleObject =>
    ruleOf('FirewallZone', name, { network: [network], input: 'ACCEPT', forward: 'REJECT' });
  const rules = [
    zone('lan', 'net-a'),
    zone('wan', 'net-b'),
    ruleOf('FirewallForwarding', 'out', { src: 'lan', dest: 'wan' }),
  ];
  const reported = cnf('cnf-1', 'default', { information: [twoNetworks] });
  const facts = factsOf({ rules, cnfs: [reported] });
  const networks = new Map([
    ['net-a', 'net1'],
    ['net-b', 'net2'],
  ]);
  const packet = packetIn({
    src: '10.0.1.2',
    dst: '203.0.113.9',
    proto: 'tcp',
    dport: '25',
    icmpType: '8',
    dscp: '0',
  });
  const asked = { packet, incoming: 'net-a', out: undefined, others: undefined };
  const change = [
    {
      namespace: '',
      cnf: 'cnf-1',
      rules: [
        ruleOf('FirewallRule', 'no-smtp', {
          src: 'lan',
          dest: 'wan',
          proto: 'tcp',
          dest_port: '25',
          target: 'DROP',
        }),
      ],
      networks: undefined,
    },
  ];

  it('takes routes and addresses from its status', () => {
    const view = tracedView(inCluster(facts, reported, { changes: [], networks }), asked);
    expect(traceText(view, false)).toMatch(/route +by eth2: by the route/);
    expect(lastLine(traceText(view, false))).toBe(
      'accepted: leaves by eth2, from 10.0.1.2 to 203.0.113.9 port 25',
    );
    expect(view.notKnown).toEqual([expect.stringContaining('sections of administrators')]);
  });

  it('names the rule of mwan3, and its policy, that decide where it leaves, but for static routes', () => {
    const uplinks = ['net1', 'net2'].map((name) => ({
      interface: name,
      up: true,
      status: 'online',
    }));
    const balanced = cnf('cnf-1', 'default', {
      information: [{ ...twoNetworks, wans: uplinks }],
    });
    const policy = (name: string, network: string): RuleObject =>
      ruleOf('Mwan3Policy', name, { members: [{ network, metric: 1, weight: 1 }] });
    const ofMwan3 = [
      policy('one', 'net-a'),
      policy('two', 'net-b'),
      ruleOf('Mwan3Rule', 'mail', { policy: 'two', proto: 'tcp', dest_port: '25' }),
      ruleOf('Mwan3Rule', 'rest', { policy: 'one' }),
    ];
    const all = factsOf({ rules: [...rules, ...ofMwan3], cnfs: [balanced] });
    const view = tracedView(inCluster(all, balanced, { changes: [], networks }), asked);
    expect(traceText(view, false)).toMatch(
      /route +by eth2: policy two of mwan3 chooses +Mwan3Rule\/mail/,
    );
    expect(view.answer.branches.map(({ outcome }) => outcome.verdict)).toContain('accepted');

    // As mwan3 leaves alone what a prefix of table main leads to, and a default route is none.
    const route = (dst: string, table: string): RuleObject =>
      ruleOf('CNFRoute', 'hq', { dst, gw: '10.0.1.254', dev: 'eth1', table });
    const withRules = (...more: RuleObject[]): string => {
      const those = factsOf({ rules: [...rules, ...ofMwan3, ...more], cnfs: [balanced] });
      const traced = inCluster(those, balanced, { changes: [], networks });
      return traceText(tracedView(traced, asked), false);
    };
    expect(withRules(route('203.0.113.0/24', 'default'))).toMatch(/route +by eth1: by the route/);
    expect(withRules(route('203.0.113.0/24', 'cnf'))).toContain('policy two of mwan3 chooses');
    expect(withRules(route('default', 'default'))).toContain('policy two of mwan3 chooses');
  });

  it('says that the CNF has another firewall', () => {
    const old = cnf('cnf-1', 'default', { information: [{ ...twoNetworks, firewall: 'fw3' }] });
    const view = tracedView(inCluster(facts, old, { changes: [], networks }), asked);
    expect(view.notKnown[0]).toBe(
      'how firewall3 reads these rules, which pod cnf-1-a has; this is how firewall4 does',
    );
  });

  it('shows before and after a change', () => {
    const view = tracedView(inCluster(facts, reported, { changes: change, networks }), asked);
    const lines = traceText(view, false).trimEnd().split('\n');
    // A new rule stands before the forwardings, as firewall4 orders them.
    expect(lines.slice(-2)).toEqual([
      'before: accepted: leaves by eth2, from 10.0.1.2 to 203.0.113.9 port 25',
      'after: dropped',
    ]);
    expect(traceViewSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
  });

  it('says what was not reported', () => {
    const silent = cnf('cnf-1', 'default', { information: [] });
    const view = tracedView(inCluster(facts, silent, { changes: [], networks }), asked);
    expect(view.notKnown[0]).toContain('no pod has reported them');
    expect(view.answer.isDecided).toBe(false);
  });

  it('refuses files that have nothing of it', () => {
    const given = { changes: change.map((one) => ({ ...one, cnf: 'cnf-2' })), networks };
    expect(() => inCluster(facts, reported, given)).toThrow(UsageError);
  });
});
