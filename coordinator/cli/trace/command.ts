/** `sdewan trace`. */
import { Argument, Option } from 'commander';
import type { CommandFile } from '../command.ts';
import { clusterOptions, collected, filenameOption } from '../options.ts';

/** Of a packet through the firewall of a CNF. */
const FIREWALL_ONLY = ['src', 'dst', 'in', 'out', 'live', 'filename', 'firewall', 'networks'];

export const traceCommand: CommandFile = {
  name: 'trace',
  summary: 'tell which rule decides for a packet, stage by stage, and what becomes of the packet',
  description:
    'It is about the first packet of a connection, on an OpenWRT with firewall4. With a CNF and files: before and after the change. With files alone: without a cluster. With --live: each pod by the firewall that its OpenWRT has and by the rules of its kernel, as its agent reads them. With --from and --to: at each CNF that enforces NetworkPolicies, which of them decides. Exits 0 when the packet is accepted, 1 when not, 3 when it cannot be told.',
  args: [
    new Argument(
      '[cnf]',
      'name of a CNF, with --live also of a pod; without it the files of -f are all',
    ),
  ],
  options: [
    new Option(
      '--live',
      'ask the agents of the pods; needs the right to forward ports to them',
    ).conflicts(['filename', 'firewall', 'networks']),
    new Option(
      '--in <network>',
      'network or interface by which it comes; default: from the CNF itself',
    ),
    new Option('--out <network>', 'by which it leaves; default: as the routes say'),
    new Option('--src <address>', 'its source address'),
    new Option('--dst <address>', 'its destination address'),
    new Option(
      '--from <pod|address>',
      'with --to: what NetworkPolicies at CNFs say of it',
    ).conflicts(FIREWALL_ONLY),
    new Option('--to <pod|address>', 'the pod or address that --from sends it to').conflicts(
      FIREWALL_ONLY,
    ),
    new Option('--proto <protocol>', 'name or number').default('tcp'),
    new Option('--sport <port>', 'source port of tcp and udp'),
    new Option('--dport <port>', 'destination port of tcp and udp'),
    new Option('--icmp-type <type>', 'name, type, or type/code').default('echo-request'),
    new Option('--mac <address>', 'hardware address of the sender'),
    new Option('--mark <mark>', 'mark that it has when it comes'),
    new Option('--dscp <number>', 'from 0 to 63').default('0'),
    filenameOption(),
    new Option(
      '--firewall <file>',
      '/etc/config/firewall of the CNF, for sections of administrators',
    ),
    new Option(
      '--networks <name=interface>',
      'networks of the CNF, separated by commas; default: those of the CNF',
    ).argParser(collected),
    ...clusterOptions(),
  ],
  examples: [
    ['cnf-1 --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80', 'a packet through a CNF'],
    [
      'cnf-1 --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80 -f change.yaml',
      'before and after a change',
    ],
    ['--from shop/web-1 --to 10.1.2.3 --dport 5432', 'what NetworkPolicies say'],
    [
      'cnf-1 --live --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --dport 80',
      'in the pods as they are',
    ],
    [
      '-f cnf.yaml -f rules.yaml --in ovn-net1 --src 10.0.1.2 --dst 10.0.2.9 --out ovn-net2 --dport 80',
      'without a cluster',
    ],
  ],
  run: async (...given) => (await import('./run.ts')).runTrace(...given),
};
