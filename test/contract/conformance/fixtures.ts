/** Sections as the kinds of a path render them. */
import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { icnDeltaOf } from '../../../agent/openwrt/icn/delta.ts';
import type { Fixture, Options } from './target.ts';

const startsWith =
  (prefix: string): Fixture['isOurs'] =>
  ({ name }) =>
    name?.startsWith(prefix) ?? false;

/** FirewallRules as UCI sections. */
const UCI_PREFIX = 'sdewan_rule_conformance_';
const uciRule = (name: string, options: Options = {}): UciSection => ({
  name: `${UCI_PREFIX}${name}`,
  anonymous: false,
  type: 'rule',
  options: {
    name: `conformance-${name}`,
    src: 'lan',
    proto: 'tcp',
    dest_port: '80',
    target: 'REJECT',
    ...options,
  },
});
export const uciFixture: Fixture = {
  package: 'firewall',
  isOurs: startsWith(UCI_PREFIX),
  rule: uciRule,
  text: (name, value) => uciRule(name, { name: value, comment: value }),
  lists: [{ src_ip: ['10.0.0.1', '10.0.0.2'] }, { src_ip: '10.0.0.1' }, { src_ip: ['10.0.0.3'] }],
  deltaOf,
};

/**
 * FirewallRules as objects of ICN's REST. Marks differ, so no two say the same, and each has its
 * place.
 */
const ICN_PREFIX = 'conformance_';
const icnRule = (name: string, options: Options = {}): UciSection => ({
  name: `${ICN_PREFIX}${name}`,
  anonymous: false,
  type: 'rules',
  options: {
    src: 'lan',
    proto: 'tcp',
    dest_port: '80',
    target: 'MARK',
    set_mark: `0x${Buffer.from(name).toString('hex')}`,
    ...options,
  },
});
export const icnFixture: Fixture = {
  package: 'firewall/rules',
  isOurs: startsWith(ICN_PREFIX),
  rule: icnRule,
  text: (name, value) => icnRule(name, { extra: value }),
  lists: [
    { icmp_type: ['ping', 'pong'] },
    { icmp_type: ['pong'] },
    { icmp_type: ['redirect', 'ping'] },
  ],
  deltaOf: icnDeltaOf,
};
