/**
 * An enforcement as an object holds it: a list of lines, each of which lets some packets pass, so
 * that its size has a bound.
 */
import type { PolicyEnforcementSpec } from './other-kinds/policy-enforcement.ts';
import type { Enforcement, Peer, Port, Rule } from '../policy/enforcement.ts';

const DIRECTIONS = ['ingress', 'egress'] as const;

type Written = Pick<PolicyEnforcementSpec, 'pods' | 'isolates' | 'lines' | 'exceptions'>;
type Line = Written['lines'][number];

export const writtenOf = (enforcement: Enforcement): Written => {
  const lines: Line[] = [];
  const exceptions: Written['exceptions'] = [];
  const isolates = DIRECTIONS.filter((direction) => enforcement[direction]);
  for (const direction of isolates)
    for (const { peers, ports } of enforcement[direction] ?? [])
      for (const [peer, port] of pairs(peers, ports)) {
        for (const cidr of exceptionsOf(peer)) exceptions.push({ line: lines.length, cidr });
        lines.push({ direction, ...writtenPeer(peer), ...writtenPort(port) });
      }
  return { pods: enforcement.pods, isolates, lines, exceptions };
};

export const enforcementOf = ({ pods, isolates, lines, exceptions }: Written): Enforcement => {
  const except = new Map<number, string[]>();
  for (const { line, cidr } of exceptions) except.getOrInsert(line, []).push(cidr);
  const rulesOf = (direction: Line['direction']): Rule[] =>
    lines.flatMap((line, at) =>
      line.direction === direction ? [ruleOf(line, except.get(at) ?? [])] : [],
    );
  return {
    pods,
    ...(isolates.includes('ingress') && { ingress: rulesOf('ingress') }),
    ...(isolates.includes('egress') && { egress: rulesOf('egress') }),
  };
};

/** Absent: any. */
const pairs = (
  peers: readonly Peer[] | undefined,
  ports: readonly Port[] | undefined,
): [Peer | undefined, Port | undefined][] =>
  (peers ?? [undefined]).flatMap((peer) =>
    (ports ?? [undefined]).map((port): [Peer | undefined, Port | undefined] => [peer, port]),
  );

const exceptionsOf = (peer: Peer | undefined): readonly string[] =>
  peer && 'cidr' in peer ? peer.except : [];

const writtenPeer = (peer: Peer | undefined): Pick<Line, 'group' | 'cidr'> => {
  if (peer === undefined) return {};
  return 'group' in peer ? { group: peer.group } : { cidr: peer.cidr };
};

const writtenPort = (
  port: Port | undefined,
): Pick<Line, 'protocol' | 'port' | 'endPort' | 'named'> =>
  port === undefined
    ? {}
    : {
        protocol: port.protocol,
        ...(port.port !== undefined && { port: port.port }),
        ...(port.endPort !== undefined && { endPort: port.endPort }),
        ...(port.group !== undefined && { named: port.group }),
      };

const ruleOf = (line: Line, except: readonly string[]): Rule => ({
  ...(line.group !== undefined && { peers: [{ group: line.group }] }),
  ...(line.cidr !== undefined && { peers: [{ cidr: line.cidr, except }] }),
  ...(line.protocol !== undefined && {
    ports: [
      {
        protocol: line.protocol,
        ...(line.port !== undefined && { port: line.port }),
        ...(line.endPort !== undefined && { endPort: line.endPort }),
        ...(line.named !== undefined && { group: line.named }),
      },
    ],
  }),
});
