/**
 * The rules of firewall4 in the kernel, as `nft list table inet fw4` prints them, as chains that a
 * trace walks. What firewall4 does not write makes its rule undecided, never a guess. Pure.
 */
import { HOOKS, policyRule } from '../firewall.ts';
import { DROP_INVALID } from '../inner.ts';
import { comparedByNft } from '../matching.ts';
import type { Action, ChainRule, Condition, Zone } from '../types.ts';
import type { Walkable } from '../walk.ts';
import { matchIn, metaMatchIn } from './matches.ts';
import type { OriginOf } from './origins.ts';
import { NotUnderstood, Reader } from './reader.ts';
import { dscpSet, markSet, statementIn } from './statements.ts';
import { wordsIn } from './words.ts';

export type KernelFirewall = Walkable & {
  /** Chains that see packets as well, and are not firewall4's: no trace walks them. */
  others: readonly string[];
};

/** Undefined where the text has not the chains that each load of firewall4 makes. */
export const kernelFirewall = (text: string, originOf: OriginOf): KernelFirewall | undefined => {
  const listed = chainsIn(text);
  if (!HOOKS.every((hook) => listed.get(hook)?.isBase)) return undefined;
  const chains = new Map(
    [...listed].map(([name, chain]) => [name, rulesOf(name, chain, originOf)] as const),
  );
  const others = [...listed].flatMap(([name, { isBase }]) =>
    isBase && !OWN.has(name) ? [name] : [],
  );
  return { chains, zones: zonesIn(chains), others };
};

/** Base chains of firewall4. */
const OWN: ReadonlySet<string> = new Set([
  ...HOOKS,
  'prerouting',
  'dstnat',
  'srcnat',
  'raw_prerouting',
  'raw_output',
  ...['prerouting', 'input', 'forward', 'output', 'postrouting'].map((hook) => `mangle_${hook}`),
]);

type Listed = { isBase: boolean; policy: string | undefined; lines: readonly string[] };

const CHAIN = /^\tchain (\S+) \{$/;
const BASE = /^type \S+ hook /;
const POLICY = /policy (\w+);/;

const chainsIn = (text: string): ReadonlyMap<string, Listed> => {
  const chains = new Map<string, Listed>();
  let current: { isBase: boolean; policy: string | undefined; lines: string[] } | undefined;
  let open = '';
  for (const line of text.split('\n')) {
    const [, begun] = CHAIN.exec(line) ?? [];
    if (begun !== undefined)
      chains.set(begun, (current = { isBase: false, policy: undefined, lines: [] }));
    else if (line === '\t}') current = undefined;
    else if (current) {
      const rule = open + line.trim();
      const base = BASE.test(rule);
      if (base) Object.assign(current, { isBase: true, policy: POLICY.exec(rule)?.[1] });
      // A long set goes on in the next line.
      open = rule.endsWith(',') ? `${rule} ` : '';
      if (!base && open === '' && rule !== '') current.lines.push(rule);
    }
  }
  return chains;
};

const rulesOf = (name: string, { policy, lines }: Listed, originOf: OriginOf): ChainRule[] => {
  const rules = lines.flatMap((line, index): ChainRule[] => {
    const states = statesIn(line);
    if (states) return states;
    const { conditions, action, comment } = ruleIn(line, { chain: name, at: index + 1 });
    const origin = originOf({ chain: name, at: index + 1, comment, action });
    return [{ origin, conditions, action: isOfNat(name) ? leaving(action) : action }];
  });
  const hook = HOOKS.find((one) => one === name);
  const last = hook && policyRule(hook, policy === 'drop' ? 'drop' : 'accept');
  return last ? [...rules, last] : rules;
};

const STATES =
  /^ct state (?:vmap \{([^}]*)\}|((?:established|related),(?:established|related)) accept)/;
const DROPS_INVALID = /\binvalid : drop\b/;

/** Among rules on the state of a connection, only this one concerns its first packet. */
const statesIn = (line: string): ChainRule[] | undefined => {
  const found = STATES.exec(line);
  if (!found) return undefined;
  if (!DROPS_INVALID.test(found[1] ?? '')) return [];
  const conditions: Condition[] = [{ on: 'invalid', option: 'drop_invalid' }];
  return [{ origin: DROP_INVALID, conditions, action: { do: 'drop' } }];
};

const isOfNat = (chain: string): boolean => /^(dst|src)nat(_|$)/.test(chain);
const leaving = (action: Action): Action => (action.do === 'accept' ? { do: 'leave' } : action);

type Rule = { conditions: readonly Condition[]; action: Action; comment: string };
const COMMENT = / comment "((?:[^"\\]|\\.)*)"$/;

const ruleIn = (line: string, { chain, at }: { chain: string; at: number }): Rule => {
  const [, comment = ''] = COMMENT.exec(line) ?? [];
  const conditions: Condition[] = [];
  try {
    const words = wordsIn(line.replace(COMMENT, ''));
    if (!words) throw new NotUnderstood('its words');
    const action = actionIn(new Reader(words), conditions);
    return { conditions: comparedByNft(conditions), action, comment };
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
    const where = `rule ${at} of chain ${chain}`;
    const unknown = {
      on: 'unknown',
      words: `${where} fits (${error.message})`,
      option: '',
    } as const;
    const words = `${where} decides, which is not understood: ${line}`;
    return { conditions: [...conditions, unknown], action: { do: 'unknown', words }, comment };
  }
};

/** Adds what it asks to `conditions`. @throws NotUnderstood */
const actionIn = (words: Reader, conditions: Condition[]): Action => {
  let action: Action = { do: 'continue' };
  while (!words.isAtEnd) {
    const done = changeIn(words) ?? statementIn(words);
    if (done) {
      if (action.do !== 'continue' && done.do !== 'continue')
        throw new NotUnderstood('two actions');
      if (done.do !== 'continue') action = done;
      continue;
    }
    const asked = words.takes('meta') ? metaMatchIn(words) : matchIn(words);
    if (!asked) throw new NotUnderstood(words.next().text);
    conditions.push(...asked);
  }
  return action;
};

/** They begin as matches do. @throws NotUnderstood */
const changeIn = (words: Reader): Action | undefined => {
  if (words.takes('meta', 'mark', 'set')) return markSet(words);
  return words.takes('ip', 'dscp', 'set') || words.takes('ip6', 'dscp', 'set')
    ? dscpSet(words)
    : undefined;
};

/** In the order in which they are asked. */
const zonesIn = (chains: ReadonlyMap<string, readonly ChainRule[]>): Walkable['zones'] => {
  const names = new Set<string>();
  const leading = (hook: 'input' | 'output') => {
    const found = new Map<string, (readonly Condition[])[]>();
    for (const { action, conditions } of chains.get(hook) ?? []) {
      const zone = action.do === 'jump' ? zoneIn(action.chain, hook) : undefined;
      if (zone === undefined) continue;
      names.add(zone);
      found.set(zone, [...(found.get(zone) ?? []), conditions]);
    }
    return found;
  };
  const [entered, left] = [leading('input'), leading('output')];
  return [...names].map((name): Pick<Zone, 'name' | 'matches'> => {
    const [ins, outs] = [entered.get(name) ?? [], left.get(name) ?? []];
    const count = Math.max(ins.length, outs.length);
    return {
      name,
      matches: Array.from(
        { length: count },
        (_, at) => (side) => (side === 'in' ? ins : outs)[at] ?? NEVER,
      ),
    };
  });
};

/** The name of a zone behind that of its chain. */
const zoneIn = (chain: string, hook: string): string | undefined =>
  chain.startsWith(`${hook}_`) ? chain.slice(hook.length + 1) : undefined;

const NEVER: readonly Condition[] = [{ on: 'protocol', in: [], option: '' }];
