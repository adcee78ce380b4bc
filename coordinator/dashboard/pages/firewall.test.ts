import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { MAX_COMPILED } from '../read-rules.ts';
import { dashboardOf, podOf, type Cluster } from '../testing.ts';
import type { Access } from '../viewer/reviews.ts';

const lan = ruleOf('FirewallZone', 'lan', { network: ['ovn-net1'], input: 'ACCEPT' });
const wan = ruleOf('FirewallZone', 'wan', { network: ['ovn-net2'], input: 'DROP', masq: '1' });
const forwarding = ruleOf('FirewallForwarding', 'go-out', { src: 'lan', dest: 'wan' });
const reject = ruleOf('FirewallRule', 'no-smtp', {
  src: 'lan',
  dest: 'wan',
  proto: 'tcp',
  dest_port: '25',
  target: 'REJECT',
});
const portal = ruleOf('FirewallDNAT', 'portal', {
  src: 'wan',
  proto: 'tcp',
  src_dport: '8080',
  dest_ip: '10.0.1.5',
  dest_port: '80',
});
const rules = [lan, wan, forwarding, reject, portal];
const PATH = '/firewall/default/cnf-1';
const BOTH =
  '{"interface": [{"name": "ovn-net1", "interface": "net1"}, {"name": "ovn-net2", "interface": "net2"}]}';
const FROM_LAN = 'in=ovn-net1&src=10.0.1.2&dst=192.0.2.7&out=ovn-net2';

const seen = async (path: string, given: Partial<Cluster> = {}) => {
  const { get, signIn } = dashboardOf({ rules, pods: [podOf('a')], networks: BOTH, ...given });
  const answer = await get(path, await signIn());
  const text = await answer.text();
  const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  return { status: answer.status, text, words };
};

describe('the firewall of a CNF', () => {
  it('has its zones, forwardings and redirects as a picture and in tables', async () => {
    const { text, words } = await seen(PATH);
    expect(words).toContain('lan net1 ACCEPT default default no FirewallZone/lan');
    expect(words).toContain('wan net2 DROP default default yes FirewallZone/wan');
    expect(words).toContain('lan wan FirewallForwarding/go-out');
    expect(words).toContain('destination port 8080 10.0.1.5 port 80 FirewallDNAT/portal');
    expect(text.match(/<path\s+class="forwarding"/g)).toHaveLength(1);
    expect(text.match(/<path\s+class="redirect"/g)).toHaveLength(1);
  });

  it('leads on to the WANs of its zones with what they have of the traffic, and to tunnels', async () => {
    const members = [
      { network: 'ovn-net1', metric: 1, weight: 1 },
      { network: 'ovn-net2', metric: 1, weight: 3 },
    ];
    const { text, words } = await seen(PATH, {
      rules: [...rules, ruleOf('Mwan3Policy', 'balance', { members })],
      information: {
        wans: [
          { interface: 'net1', up: false, status: 'offline' },
          { interface: 'net2', up: true, status: 'online' },
        ],
        tunnels: [{ name: 'hub-main', up: true, state: 'ESTABLISHED' }],
      },
    });
    expect(words).toContain('✗ net1 offline, 0 % ✓ net2 online, 100 % ✓ hub-main tunnel, up');
    expect(text.match(/<path class="down"/g)).toHaveLength(1);
    expect(text.match(/<path class="up"/g)).toHaveLength(2);
  });

  it('calls a zone that stands for a device by that device', async () => {
    const nat = ruleOf('CNFNAT', 'web', {
      src: 'eth7',
      proto: 'tcp',
      src_dport: '80',
      dest_ip: '10.0.1.5',
      target: 'DNAT',
    });
    const { words } = await seen(PATH, { rules: [...rules, nat] });
    expect(words).toContain('device eth7');
    expect(words).not.toMatch(/\bsd[0-9a-f]{8}\b/);
  });

  it('names the rules that are not in it, and why', async () => {
    const lost = ruleOf('FirewallForwarding', 'lost', { src: 'lan', dest: 'nowhere' });
    const { words } = await seen(PATH, { rules: [...rules, lost] });
    expect(words).toMatch(/Rules that become no section .* FirewallForwarding\/lost .*nowhere/);
  });

  it.each([
    [`${FROM_LAN}&proto=tcp&dport=25`, '✗ rejected', 'FirewallRule/no-smtp'],
    [`${FROM_LAN}&dport=443`, '✓ accepted: leaves by net2', 'FirewallForwarding/go-out'],
    [
      'src=10.0.1&dst=192.0.2.7',
      'cannot be traced: src 10.0.1: must be an IPv4 or IPv6 address',
      '',
    ],
    ['in=net9&src=10.0.1.2&dst=192.0.2.7', 'the CNF has no network net9', ''],
  ])('answers what becomes of a packet: %s', async (packet, answer, decider) => {
    const { words } = await seen(`${PATH}?${packet}`);
    expect(words).toContain(answer);
    expect(words).toContain(decider);
  });

  it('keeps what was asked, as text', async () => {
    const { text } = await seen(`${PATH}?src=%22%3E%3Cscript%3E&dst=192.0.2.7&in=%3Cb%3E`);
    expect(text).not.toMatch(/"><script>|<b>/);
    expect(text).toContain('value="&quot;&gt;&lt;script&gt;"');
  });

  it('is not shown to a viewer without the right to list all of it, and is not there for one without any', async () => {
    const but = (resource: string) => (_user: string, access: Access) =>
      access.resource !== resource;
    const part = await seen(`${PATH}?${FROM_LAN}`, { may: but('firewallforwardings') });
    expect(part.words).toContain('You may not list firewallforwardings here');
    expect(part.words).not.toMatch(/accepted|rejected|lan/);
    const nothing = await seen(PATH, { may: () => false });
    const absent = await seen('/firewall/default/cnf-9');
    expect([nothing.status, nothing.text]).toEqual([404, absent.text]);
  });

  it('is not compiled where it is large', async () => {
    const many = Array.from({ length: MAX_COMPILED + 1 }, (_, at) =>
      ruleOf('FirewallRule', `r${at}`, { src: 'lan', target: 'REJECT' }),
    );
    const { words } = await seen(PATH, { rules: [...rules, ...many] });
    expect(words).toContain('It has 506 rules');
  });

  it('is another page when a rule of it is', async () => {
    const { live: _live, ...at } = dashboardOf({ rules, networks: BOTH });
    const cookie = await at.signIn();
    const mark = async (): Promise<string> => {
      const answer = await at.get(`/live?of=${encodeURIComponent(PATH)}`, cookie);
      const reader = answer.body?.getReader();
      const { value } = (await reader?.read()) ?? {};
      await reader?.cancel();
      return new TextDecoder().decode(value);
    };
    const before = await mark();
    expect(await mark()).toBe(before);
    at.cluster.rules = rules.slice(1);
    at.overview.mark();
    expect(await mark()).not.toBe(before);
    at.stop.abort();
  });
});
