import { describe, expect, it } from 'vitest';
import { inspectionWith } from '#shared/protocol/testing.ts';
import { EXIT } from '../command.ts';
import { runCli } from '../testing.ts';
import { bareSurroundings } from '../../views/traced-cnf.ts';
import {
  liveTraceText,
  liveTraceView,
  liveTraceViewSchema,
  podTrace,
  type AgentAnswers,
} from './live.ts';
import { packetIn } from '../../views/packet.ts';

const section = (name: string, type: string, options: Record<string, string | string[]>) => ({
  name,
  type,
  options,
  anonymous: false,
});
const HELD = [
  section('defaults', 'defaults', { input: 'REJECT', output: 'ACCEPT', forward: 'REJECT' }),
  section('sdewan_lan', 'zone', { name: 'lan', network: ['net1'], input: 'ACCEPT' }),
  section('wan', 'zone', { name: 'wan', network: ['net2'], masq: '1' }),
  section('sdewan_out', 'forwarding', { src: 'lan', dest: 'wan', name: 'out' }),
  section('sdewan_smtp', 'rule', {
    name: 'no-smtp',
    src: 'lan',
    dest: 'wan',
    proto: 'tcp',
    dest_port: '25',
    target: 'REJECT',
  }),
];
const applied = (kind: string, name: string, ...sections: string[]) => ({
  kind,
  name,
  generation: 1,
  state: 'Applied' as const,
  reason: 'InSync',
  message: '',
  sections,
});
const INSPECTION = inspectionWith({
  packages: [{ name: 'firewall', wanted: HELD, held: HELD }],
  rules: [
    applied('FirewallRule', 'no-smtp', 'firewall.sdewan_smtp'),
    applied('FirewallForwarding', 'out', 'firewall.sdewan_out', 'network.other'),
  ],
});

/** What nft 1.0.6 prints of these sections by firewall4, without chains that are not asked here. */
const LISTING = `table inet fw4 {
	chain input {
		type filter hook input priority filter; policy drop;
		iif "lo" accept comment "!fw4: Accept traffic from loopback"
		ct state vmap { established : accept, related : accept } comment "!fw4: Handle inbound flows"
		iifname "net1" jump input_lan comment "!fw4: Handle lan IPv4/IPv6 input traffic"
		iifname "net2" jump input_wan comment "!fw4: Handle wan IPv4/IPv6 input traffic"
		jump handle_reject
	}

	chain forward {
		type filter hook forward priority filter; policy drop;
		ct state vmap { established : accept, related : accept } comment "!fw4: Handle forwarded flows"
		iifname "net1" jump forward_lan comment "!fw4: Handle lan IPv4/IPv6 forward traffic"
		iifname "net2" jump forward_wan comment "!fw4: Handle wan IPv4/IPv6 forward traffic"
		jump handle_reject
	}

	chain output {
		type filter hook output priority filter; policy accept;
		oifname "net1" jump output_lan comment "!fw4: Handle lan IPv4/IPv6 output traffic"
		oifname "net2" jump output_wan comment "!fw4: Handle wan IPv4/IPv6 output traffic"
	}

	chain handle_reject {
		meta l4proto tcp reject with tcp reset comment "!fw4: Reject TCP traffic"
		reject comment "!fw4: Reject any other traffic"
	}

	chain forward_lan {
		tcp dport 25 counter jump reject_to_wan comment "!fw4: no-smtp"
		jump accept_to_wan comment "!fw4: out"
		jump reject_to_lan
	}

	chain accept_to_wan {
		meta nfproto ipv4 oifname "net2" ct state invalid counter drop comment "!fw4: Prevent NAT leakage"
		oifname "net2" counter accept comment "!fw4: accept wan IPv4/IPv6 traffic"
	}

	chain reject_to_wan {
		oifname "net2" counter jump handle_reject comment "!fw4: reject wan IPv4/IPv6 traffic"
	}

	chain dstnat {
		type nat hook prerouting priority dstnat; policy accept;
	}

	chain srcnat {
		type nat hook postrouting priority srcnat; policy accept;
		oifname "net2" jump srcnat_wan comment "!fw4: Handle wan IPv4/IPv6 srcnat traffic"
	}

	chain srcnat_wan {
		meta nfproto ipv4 masquerade comment "!fw4: Masquerade IPv4 wan traffic"
	}
}
`;

const surroundings = bareSurroundings(
  new Map([
    ['ovn-net1', 'net1'],
    ['ovn-net2', 'net2'],
  ]),
);
const to = (dport: string) => ({
  packet: packetIn({
    src: '10.0.1.2',
    dst: '192.0.2.7',
    proto: 'tcp',
    dport,
    icmpType: 'echo-request',
    dscp: '0',
  }),
  incoming: 'net1',
  out: 'net2',
});
const POD = { namespace: 'edge', name: 'cnf-1-a', purpose: 'cnf-1' };
const traced = (dport: string, changed: Partial<AgentAnswers> = {}) =>
  podTrace(
    POD,
    { inspection: INSPECTION, kernel: { text: LISTING }, surroundings, ...changed },
    to(dport),
  );
const shown = (one: ReturnType<typeof traced>, dport = '80'): string => {
  const view = liveTraceView([one], { cnf: 'cnf-1', ...to(dport), in: 'net1' });
  liveTraceViewSchema.parse(JSON.parse(JSON.stringify(view)));
  return liveTraceText(view, false);
};
const listingWith = (from: string, instead: string) => ({
  kernel: { text: LISTING.replace(from, instead) },
});

describe('a packet through a pod', () => {
  it('ends alike by what OpenWRT has and by the rules of the kernel, which lead back to rules', () => {
    const rejected = traced('25');
    expect(rejected).toMatchObject({ agree: true, notKnown: [] });
    for (const answer of [rejected.configuration, rejected.kernel])
      expect(
        answer?.branches.map(({ outcome, stages }) => [outcome.verdict, stages.at(-1)]),
      ).toEqual(
        Array.from({ length: answer?.branches.length ?? 0 }, () => [
          'rejected',
          expect.objectContaining({ stage: 'filter', decidedBy: 'FirewallRule/no-smtp' }),
        ]),
      );
    const accepted = shown(traced('80'));
    expect(accepted).toContain('FirewallForwarding/out');
    expect(accepted).toContain("masquerading of zone wan (administrator's section wan)");
    expect(accepted.trimEnd()).toMatch(/cnf-1-a: .*, and the rules of the kernel say the same$/);
  });

  it('is shown by both where they differ, which is no answer', () => {
    const gone = traced('25', listingWith('tcp dport 25 ', 'tcp dport 26 '));
    expect(gone.agree).toBe(false);
    const text = shown(gone, '25');
    expect(text).toContain('By the rules of the kernel:\n');
    expect(text).toMatch(/cnf-1-a: accepted.* \(by the configuration: rejected/);
  });

  it('is undecided at a rule of the kernel that is not understood', () => {
    const odd = traced('80', listingWith('tcp dport 25 counter', 'numgen inc mod 2 0'));
    expect(odd.kernel?.isDecided).toBe(false);
    expect(shown(odd)).toContain('rule 1 of chain forward_lan decides, which is not understood');
  });

  it('names a rule that no section explains, and chains that are not read', () => {
    const foreign = traced(
      '80',
      listingWith('\t\ttcp dport 25', '\t\tip daddr 192.0.2.0/24 drop\n\t\ttcp dport 25'),
    );
    expect(shown(foreign)).toContain('rule 1 of chain forward_lan in the kernel, which no section');
    const chain = '\tchain mine {\n\t\ttype filter hook forward priority 5; policy drop;\n\t}\n';
    const more = traced(
      '80',
      listingWith('\tchain handle_reject', `${chain}\tchain handle_reject`),
    );
    expect(more.notKnown).toEqual([expect.stringContaining('what chain mine does')]);
  });

  it('is told once of pods that answer alike', () => {
    const one = traced('80');
    const pods = [one, { ...one, pod: 'cnf-1-b' }];
    const text = liveTraceText(
      liveTraceView(pods, { cnf: 'cnf-1', ...to('80'), in: 'net1' }),
      false,
    );
    expect(text).toContain('cnf-1-a, cnf-1-b:\n');
    expect(text.match(/FirewallForwarding\/out/g)).toHaveLength(
      shown(one).match(/FirewallForwarding\/out/g)?.length ?? 0,
    );
    expect(text).toMatch(/^cnf-1-b: accepted/m);
  });

  it('takes no part of a table for firewall4', () => {
    const text = 'table inet fw4 {\n\tchain input {\n\t\tjump input_lan\n\t}\n}\n';
    const { agree, notKnown } = traced('25', { kernel: { text } });
    expect(agree).toBeUndefined();
    expect(notKnown).toEqual(['the rules of the kernel: it has none of firewall4']);
  });

  it('is told by the configuration alone where the kernel is not read', () => {
    const { agree, notKnown, configuration } = traced('25', { kernel: { unread: 'no right' } });
    expect([agree, notKnown]).toEqual([undefined, ['the rules of the kernel: no right']]);
    expect(configuration).toBeDefined();
    const unread = traced('25', { inspection: { ...INSPECTION, packages: [] } });
    expect(shown(unread)).toContain('cnf-1-a: undecided');
  });
});

it.each([
  ['without a CNF', ['--live'], '--live: specify a CNF or a pod'],
  ['with files', ['cnf-1', '--live', '-f', 'r.yaml'], 'cannot be used with'],
])('--live %s is wrong usage', async (_, args, words) => {
  const answer = await runCli(['trace', ...args, '--src', '10.0.0.1', '--dst', '10.0.0.2']);
  expect([answer.code, answer.said.join('\n')]).toEqual([
    EXIT.usage,
    expect.stringContaining(words),
  ]);
});
