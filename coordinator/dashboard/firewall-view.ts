/** The firewall of a CNF, and the way of a packet through it, from what its viewer can list. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { kinds } from '#shared/resources/registry.ts';
import { networksOf, namesAsInterfaces } from '../views/networks.ts';
import { packetIn } from '../views/packet.ts';
import { inCluster, tracedView } from '../views/traced.ts';
import type { TraceView } from '../views/trace.ts';
import { factsOf, type ExplainDeps, type RuleToExplain } from './explain.ts';
import { zoneMapOf, type ZoneMap } from './zone-map.ts';
import type { Cnf } from './overview.ts';
import { UsageError } from '../views/usage-error.ts';

/** Those that become sections of OpenWRT's firewall. */
export const firewallKinds = kinds.filter(({ uci }) => uci?.package === 'firewall');

/** As the user typed it; '' for what is left out. */
export type AskedPacket = Readonly<Record<(typeof PACKET_FIELDS)[number], string>>;
export const PACKET_FIELDS = ['in', 'src', 'dst', 'proto', 'sport', 'dport', 'out'] as const;

/** `packet`: undefined when none is asked for. */
export type FirewallToShow = Cnf &
  Pick<RuleToExplain, 'seesPods' | 'seesNetworks'> & { packet: AskedPacket | undefined };

export type FirewallView = {
  map: ZoneMap;
  networks: readonly string[];
  /** A text: why the packet cannot be traced. */
  trace: TraceView | string | undefined;
};

/** `busy`: too many wait. @throws KubeError */
export type FirewallOf = (wanted: FirewallToShow) => Promise<FirewallView | 'busy'>;

export const createFirewall =
  ({ reader, ...known }: ExplainDeps): FirewallOf =>
  (wanted) =>
    reader.inTurn(async () => {
      const rules = await reader.allOf(wanted, firewallKinds);
      const facts = factsOf(rules, wanted, known);
      const { networks } = networksOf(facts, wanted) ?? namesAsInterfaces(rules);
      return {
        map: zoneMapOf(rules, networks),
        networks: [...networks.keys()],
        trace: wanted.packet && traced(rules, wanted.packet, { wanted, facts }),
      };
    });

const traced = (
  rules: readonly RuleObject[],
  { in: incoming, out, ...asked }: AskedPacket,
  { wanted, facts }: { wanted: Cnf; facts: ReturnType<typeof factsOf> },
): TraceView | string => {
  const { namespace, purpose } = wanted;
  const cnf = facts.cnfs[0] ?? { namespace, purpose, status: undefined };
  const given = Object.entries({ ...DEFAULTS, ...withoutEmpty(asked) });
  try {
    return tracedView(inCluster({ ...facts, rules }, cnf, { changes: [], networks: undefined }), {
      packet: packetIn(Object.fromEntries(given)),
      incoming: incoming || undefined,
      out: out || undefined,
      others: undefined,
    });
  } catch (error) {
    // Its words are of the command line.
    if (error instanceof UsageError) return error.message.replaceAll('--', '');
    throw error;
  }
};

/** Those of the command line. */
const DEFAULTS = { proto: 'tcp', icmpType: 'echo-request', dscp: '0' };

const withoutEmpty = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
