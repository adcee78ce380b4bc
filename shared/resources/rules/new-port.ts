/**
 * A new port without a port that packets have: firewall4 writes a translation without its protocol
 * then, which nft refuses, and with it all rules of the firewall (seen with firewall4's own
 * templates, docs/firewall4.md). firewall3 takes it.
 */
import type { Lack, RenderContext } from '../kind.ts';

export type Redirected = {
  src_port?: string | undefined;
  src_dport?: string | undefined;
  dest_port?: string | undefined;
};
type PortField = 'src_dport' | 'dest_port';

/** The field of the new port, and that of the port that it replaces or that is beside it. */
const FIELDS: Readonly<Record<'DNAT' | 'SNAT', readonly [PortField, PortField]>> = {
  DNAT: ['dest_port', 'src_dport'],
  SNAT: ['src_dport', 'dest_port'],
};

const problemOf = (target: 'DNAT' | 'SNAT', rule: Redirected): string | undefined => {
  const [fresh, other] = FIELDS[target];
  return rule[fresh] === undefined || rule[other] !== undefined || rule.src_port !== undefined
    ? undefined
    : `firewall4 takes a new port only for packets whose port is named, and would take no rule at all; add ${other} (1-65535 for all ports) or src_port`;
};

export const newPortLacks = (
  target: 'DNAT' | 'SNAT',
  rule: Redirected,
  { capabilities }: Pick<RenderContext, 'capabilities'>,
): readonly Lack[] => {
  const problem = capabilities.firewall === 'fw4' ? problemOf(target, rule) : undefined;
  return problem === undefined
    ? []
    : [
        {
          path: `spec.${FIELDS[target][0]}`,
          reason: 'UnsupportedByDriver',
          message: `${problem}; it is not in force`,
        },
      ];
};

export const newPortCautions = (target: 'DNAT' | 'SNAT', rule: Redirected): readonly string[] => {
  if (target === 'DNAT' && rule.dest_port === undefined && rule.src_dport?.startsWith('!'))
    return [
      'spec.dest_port: absent, so firewall4 takes the excluded port of src_dport for the new one of all others; name the new port',
    ];
  const problem = problemOf(target, rule);
  return problem === undefined
    ? []
    : [`spec.${FIELDS[target][0]}: ${problem}; with firewall4 the rule is not written`];
};
