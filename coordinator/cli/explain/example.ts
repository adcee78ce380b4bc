/** A packet that comes to a rule, as a command that traces it. Pure. */
import type { NetworkTable } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { addressOf } from '#shared/runtime/addresses.ts';
import { briefly, exampleOf } from '#shared/trace/example/search.ts';
import { sectionsOf } from '#shared/trace/firewall.ts';
import type { Packet } from '#shared/trace/packet.ts';
import { protocolName } from '#shared/trace/protocols.ts';
import type { Surroundings } from '#shared/trace/types.ts';
import { cnfOf } from '../cluster/cnf-of.ts';
import { purposeOf, type ClusterFacts } from '../cluster/facts.ts';
import { reportedCnf } from '../trace/cnf.ts';

/** Of one CNF with which this takes less than half a second (measured: 0.15 s of 1,000); docs/cli.md names it. */
const MAX_RULES = 2_000;

/** Undefined where none was found, or no agent has reported the addresses of the CNF. */
export const traceCommandFor = (rule: RuleObject, facts: ClusterFacts): string | undefined => {
  const cnf = cnfOf(rule, facts);
  if (kindOf(rule.kind)?.uci?.package !== 'firewall' || cnf.rules.length > MAX_RULES)
    return undefined;
  const { pod, world, nameOf } = reportedCnf(cnf);
  if (!pod) return undefined;
  const { kind, metadata } = rule;
  const own = sectionsOf(world.firewall).filter(
    (one) => nameOf(one) === `${kind}/${metadata.name}`,
  );
  for (const section of own) {
    const { example } = exampleOf(section, world);
    if (!example) continue;
    const packet = briefly(section, world, example.packet);
    const around = { networks: cnf.networks, surroundings: world.surroundings };
    return `sdewan trace ${purposeOf(rule)} -n ${metadata.namespace} ${optionsOf(packet, around)}`;
  }
  return undefined;
};

type Around = { networks: NetworkTable; surroundings: Surroundings };

/** Without those that are as the command has them by itself. */
const optionsOf = (packet: Packet, around: Around): string => {
  const { family, source, destination, protocol, sourcePort, destinationPort, icmp } = packet;
  const { mac, mark, dscp = 0 } = packet;
  const options: [string, string | number | undefined][] = [
    ['in', packet.in === undefined ? undefined : networkOf(packet.in, around)],
    ['src', addressOf(source, family)],
    ['dst', addressOf(destination, family)],
    ['proto', protocolName(protocol)],
    ['sport', sourcePort],
    ['dport', destinationPort],
    ['icmp-type', icmp && `${icmp.type}/${icmp.code}`],
    ['mac', mac],
    ['mark', mark],
    ['dscp', dscp === 0 ? undefined : dscp],
  ];
  return options
    .flatMap(([option, value]) => (value === undefined ? [] : [`--${option} ${value}`]))
    .join(' ');
};

const networkOf = (device: string, { networks, surroundings }: Around): string => {
  const found = [...networks].find(
    ([, name]) => (surroundings.networks.get(name)?.device ?? name) === device,
  );
  return found?.[0] ?? device;
};
