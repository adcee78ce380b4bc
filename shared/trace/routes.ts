/** Where a packet goes: to the CNF itself, or out by a device. */
import { own } from '../util/own.ts';
import { addressText } from './conditions.ts';
import { isIn, prefixRange } from './prefixes.ts';
import type { Travelling } from './packet.ts';
import type { Origin, Prefix, Range, Route, Surroundings } from './types.ts';
import { UPLINKS } from './uplinks.ts';
import { answered, deciderOf, walk, type Answers, type PassedOver } from './walk.ts';

/** `why`: in words. `to` undefined: no route. `by`: mwan3's rule that decides, and those before. */
export type Way = { by?: { rule: Origin; passed: readonly PassedOver[] } } & (
  | { to: 'cnf'; why: string }
  | { to: 'device'; device: string; why: string }
  | { to: undefined; why: string }
);

type Given = { surroundings: Surroundings; out: string | undefined; answers: Answers };

/** @throws Unanswered where it is not known what it takes */
export const wayOf = (at: Travelling, given: Given): Way => {
  const { surroundings, out, answers } = given;
  const { family } = at.packet;
  const text = addressText(at.destination, family);
  if (isOwn(at, surroundings)) return { to: 'cnf', why: `${text} is an address of the CNF` };
  if (isForGroup(at)) return { to: undefined, why: `${text} is the address of a group` };
  if (out !== undefined) return { to: 'device', device: out, why: 'as --out says' };
  const addresses = [...surroundings.networks.values()].flatMap((network) => network.addresses);
  if (addresses.length === 0 && answered(`${text} is an address of the CNF itself`, answers))
    return { to: 'cnf', why: `${text} is an address of the CNF` };
  return routed(at, given);
};

const isOwn = ({ destination, packet: { family } }: Travelling, { networks }: Surroundings) =>
  destination.low === destination.high &&
  [...networks.values()].some(({ addresses }) =>
    addresses.some((own) => own.family === family && isOwnIn(own, destination.low)),
  );

/** From here on networks are of two addresses, which have neither. */
const POINT_TO_POINT = { 4: 31, 6: 127 } as const;

/**
 * Its own address, and what the kernel takes for itself beside it: in IPv4 the one for all, in IPv6
 * the one for any router.
 */
const isOwnIn = (own: Prefix, address: bigint): boolean => {
  if (own.address === address) return true;
  const { low, high } = prefixRange(own);
  return own.bits < POINT_TO_POINT[own.family] && address === (own.family === 4 ? high : low);
};

const isForGroup = ({ destination: { low }, packet: { family } }: Travelling): boolean =>
  family === 4 ? low >> 28n === 0xen || low === 0xffff_ffffn : low >> 120n === 0xffn;

const routed = (at: Travelling, { surroundings, answers }: Given): Way => {
  const { networks, routes, wans } = surroundings;
  const devices = [...new Set([...networks.values()].flatMap(({ device }) => device ?? []))];
  const choose = (from: readonly string[], why: string): Way => {
    const device = from.find((one) => answered(`it leaves by ${one}`, answers));
    return device === undefined
      ? { to: undefined, why: 'no route is known to it' }
      : { to: 'device', device, why };
  };
  const best = longest(at, surroundings);
  // A prefix of table main, linked or static, is in mwan3's set of what it leaves alone.
  if (wans.length > 0 && (best === undefined || best.to.bits === 0)) {
    const devicesOf = (names: readonly string[]): readonly string[] =>
      names.flatMap((name) => networks.get(name)?.device ?? []);
    const chosen = policyFor(at, surroundings, answers);
    if (chosen === undefined) return choose(devicesOf(wans), 'mwan3 chooses');
    const { policy, by } = chosen;
    if (policy === 'unreachable' || policy === 'blackhole')
      return { to: undefined, why: `by policy ${policy} of mwan3`, by };
    const members = surroundings.uplinks?.members.get(policy);
    const all = policy === 'default' ? devices : devicesOf(members ?? wans);
    return { ...choose(all, `policy ${policy} of mwan3 chooses`), by };
  }
  if (!routes) return choose(devices, 'by assumption');
  return best === undefined
    ? { to: undefined, why: `no route leads to ${addressText(at.destination, at.packet.family)}` }
    : { to: 'device', device: best.device, why: 'by the route' };
};

/** The policy of the first rule of mwan3 that it matches; undefined: none, or not known. */
const policyFor = (
  at: Travelling,
  { uplinks }: Surroundings,
  answers: Answers,
): { policy: string; by: NonNullable<Way['by']> } | undefined => {
  if (uplinks === undefined) return undefined;
  const { decision, passed } = walk(UPLINKS, at, { firewall: uplinks, answers });
  const rule = decision && deciderOf(decision);
  const policy = rule?.of === 'section' ? own(rule.section.options, 'use_policy') : undefined;
  return rule && typeof policy === 'string' ? { policy, by: { rule, passed } } : undefined;
};

/** The kernel takes the first of them that leads to an address. */
const byPrecedence = (a: Route, b: Route): number => b.to.bits - a.to.bits || a.metric - b.metric;

const longest = (
  { destination, packet: { family } }: Travelling,
  { networks, routes = [] }: Surroundings,
): Route | undefined => {
  const linked = [...networks.values()].flatMap(({ device, addresses }): Route[] =>
    device === undefined ? [] : addresses.map((to) => ({ to, device, metric: 0 })),
  );
  const leads = ({ to }: Route, { low }: Range): boolean =>
    to.family === family && isIn(low, prefixRange(to));
  const [best] = [...linked, ...routes].filter((one) => leads(one, destination)).sort(byPrecedence);
  return best;
};
