/** What a compilation keeps for the next, against one that keeps nothing, over random histories. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { createCandidates } from '#shared/compile/candidates.ts';
import { compile } from '#shared/compile/compile.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import { DELETING, inputOf, namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { CompileInput, CompileResult } from '#shared/compile/types.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { ASSUMED, OF_TODAY } from '#shared/resources/capabilities.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import { expect, it } from 'vitest';
import { allSamples } from '../../samples/all.ts';

type History = CompileInput & { last: CompileResult };
type Move = (history: History, first: number, second: number) => Partial<CompileInput>;

const good = allSamples.flatMap(({ kind, ofIcn, rendered }) =>
  [...ofIcn, ...rendered].map(({ name, spec }) => ({ kind, name, spec })),
);
const refused = allSamples.flatMap(({ kind, refused }) =>
  Object.values(refused).map(({ name = 'wrong', spec }) => ({ kind, name, spec })),
);
const specs = [...good, ...refused];
const at = <T>(list: readonly T[], place: number): T | undefined => list[place % list.length];
const toggled = <T>(map: ReadonlyMap<string, T> = new Map(), key: string, value: T) =>
  new Map(map.has(key) ? [...map].filter(([other]) => other !== key) : [...map, [key, value]]);

const changeOne = (
  { rules }: History,
  place: number,
  change: (rule: RuleObject) => Partial<RuleObject>,
): Partial<CompileInput> => {
  const changed = at(rules, place);
  return { rules: rules.map((rule) => (rule === changed ? { ...rule, ...change(rule) } : rule)) };
};

const respecified = (history: History, place: number, from: typeof specs, second: number) =>
  changeOne(history, place, ({ kind, metadata }) => ({
    metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    spec: at(
      from.filter((one) => one.kind === kind),
      second,
    )?.spec,
  }));

const packageWith = (
  { observed }: History,
  place: number,
  change: (content: UciPackage) => Partial<UciPackage>,
): Partial<CompileInput> => {
  const content = at([...observed.values()], place);
  return {
    observed: new Map(
      content ? [...observed, [content.name, { ...content, ...change(content) }]] : [],
    ),
  };
};

const MOVES: Readonly<Record<string, Move>> = {
  'a rule comes': ({ rules }, first, second) => {
    const { kind, name, spec } = at(specs, first) ?? { kind: '', name: '', spec: {} };
    const uid = `${kind}-${name}-${second}`;
    const creationTimestamp = `2026-01-01T00:00:0${second % 4}Z`;
    const others = rules.filter((rule) => rule.kind !== kind || rule.metadata.name !== name);
    return { rules: [...others, ruleOf(kind, name, spec, { uid, creationTimestamp })] };
  },
  'a rule goes': ({ rules }, first) => ({
    rules: rules.filter((rule) => rule !== at(rules, first)),
  }),
  'a rule is to go': (history, first) =>
    changeOne(history, first, ({ metadata }) => ({ metadata: { ...metadata, ...DELETING } })),
  'a rule changes': (history, first, second) => respecified(history, first, specs, second),
  'a rule changes to another that is good': (history, first, second) =>
    respecified(history, first, good, second),
  'a key changes': ({ rules }, first, second) => {
    const name = at(WITH_KEYS, first)?.name ?? '';
    const spec = hostWith(`of-${name}`, { pre_shared_key: `key ${second % 2}` });
    return {
      rules: rules.map((rule) => (rule.metadata.name === name ? { ...rule, spec } : rule)),
    };
  },
  'a rule gets another place': (history, first, second) =>
    changeOne(history, first, ({ metadata }) => ({
      metadata: {
        ...metadata,
        annotations: { [ORDER_ANNOTATION]: at(['-1', '0', '1', 'x'], second) ?? '' },
      },
    })),
  'rules come in another order': ({ rules }) => ({ rules: rules.toReversed() }),
  'a network comes or goes': ({ networks }, first) => ({
    networks: toggled(networks, at(['ovn-net1', 'ovn-net2', 'ovn-priv-net'], first) ?? '', 'net1'),
  }),
  'a network changes in the map of before': ({ networks }, first) => {
    if (networks instanceof Map) networks.set('ovn-net1', `net${first % 9}`);
    return {};
  },
  'the default route changes': ({ devices }, first) => ({
    devices: {
      byAddress: new Map(),
      ...devices,
      defaultRoute: at(['eth0', 'net1', undefined], first),
    },
  }),
  'a Secret comes or goes': ({ secrets }, first) => ({
    secrets: toggled(secrets, at(['vpn/psk', 'vpn/tls.key'], first) ?? '', 'another'),
  }),
  'a rule is refused, or not any more': ({ rules, refused }, first, second) => {
    const rule = at(rules, first);
    const revision = rule && second % 4 > 0 ? revisionOf(rule) : 'another';
    const message = `refused ${second % 2}`;
    if (!rule) return {};
    const { uid } = rule.metadata;
    const why = { revision, message };
    return { refused: second % 3 ? toggled(refused, uid, why) : new Map([...refused, [uid, why]]) };
  },
  'a rule is withheld, or not any more': ({ rules, withheld }, first) => ({
    withheld: toggled(withheld, at(rules, first)?.metadata.uid ?? '', {
      reason: 'ForeignController' as const,
      message: 'withheld',
    }),
  }),
  'OpenWRT is as desired': ({ observed, last: { desired, verdicts }, lastGood }) => ({
    observed: new Map([
      ...observed,
      ...[...desired].flatMap(([name, ours]): [string, UciPackage][] => {
        const names = new Set(ours.map((section) => section.name));
        const others = observed.get(name)?.sections.filter((one) => !names.has(one.name));
        return others ? [[name, { name, sections: [...others, ...ours] }]] : [];
      }),
    ]),
    ledger: new Set([...desired].flatMap(([name, all]) => all.map((one) => `${name}.${one.name}`))),
    lastGood: new Map(
      verdicts.flatMap(({ rule: { metadata, spec }, verdict, revision }) => {
        const before = lastGood.get(metadata.uid);
        const now = { spec, generation: metadata.generation ?? 0, revision };
        const good = verdict === 'wanted' ? now : before;
        return good ? [[metadata.uid, good]] : [];
      }),
    ),
  }),
  'an administrator adds a section': (history, first, second) => {
    const ours = at([...history.last.desired.values()].flat(), second);
    const section = ours ?? namedSection('zone', 'lan1', { name: 'lan1' });
    return packageWith(history, first, ({ sections }) => ({ sections: [...sections, section] }));
  },
  'an administrator changes a section': (history, first, second) =>
    packageWith(history, first, ({ sections }) => ({
      sections: sections.map((section) =>
        section === at(sections, second) ? namedSection('zone', `lan${first % 3}`, {}) : section,
      ),
    })),
  'an administrator removes a section': (history, first, second) =>
    packageWith(history, first, ({ sections }) => ({
      sections: sections.filter((section) => section !== at(sections, second)),
    })),
  'what rules look for comes or goes': ({ observed }, first) => {
    const name = at(['network', 'mwan3', 'keepalived', 'ipsec'], first) ?? '';
    const usual = inputOf([]).observed.get(name) ?? { name, sections: [] };
    const isThere = observed.get(name)?.sections.some((one) => usual.sections.includes(one));
    return { observed: new Map([...observed, [name, isThere ? { name, sections: [] } : usual]]) };
  },
  'a package is renewed': (history, first) => packageWith(history, first, structuredClone),
  'a package comes or goes': ({ observed }, first) => {
    const name = at(['firewall', 'mwan3', 'network', 'ipsec', 'keepalived'], first) ?? '';
    return { observed: toggled(observed, name, { name, sections: [] }) };
  },
  'a package cannot be read, or can': ({ unusable }, first) => ({
    unusable: toggled(unusable, at(['firewall', 'ipsec'], first) ?? '', 'no'),
  }),
  'the ledger is lost': () => ({ ledger: new Set() }),
  'the ledger loses an entry': ({ ledger }, first) => ({
    ledger: new Set([...ledger].filter((key) => key !== at([...ledger], first))),
  }),
  'OpenWRT is another': (_history, first) => ({
    capabilities:
      at([ASSUMED, OF_TODAY, { ...ASSUMED, dialect: 'icn' as const }], first) ?? ASSUMED,
  }),
  'the pod gets another place': (_history, first) => ({
    place: { distance: first % 3, peers: new Map([['net1', [`10.0.0.${first % 2}`]]]) },
  }),
};

const OFTEN = [
  'a key changes',
  'a rule changes',
  'a Secret comes or goes',
  'OpenWRT is as desired',
  'what rules look for comes or goes',
  'the ledger loses an entry',
];
const hostWith = (connection: string, key: object) => ({
  remote: 'vpn.example.com',
  authentication_method: 'psk',
  ...key,
  crypto_proposal: ['p1'],
  connections: [{ name: connection, conn_type: 'tunnel', mode: 'route' }],
});
/** Without identities of their own, so that keys which differ clash. */
const WITH_KEYS = ['one', 'two'].map((name) => ({
  kind: 'IpsecHost',
  name,
  spec: hostWith(`of-${name}`, { pre_shared_key: 'key 0' }),
}));
/** While the Secret is not there, what OpenWRT has of the first stays. */
const IN_EACH = [
  { kind: 'IpsecProposal', name: 'p1', spec: { encryption_algorithm: 'aes128' } },
  {
    kind: 'IpsecHost',
    name: 'by-secret',
    spec: hostWith('c1', { pre_shared_key_from: { name: 'vpn', key: 'psk' } }),
  },
  ...WITH_KEYS,
];
/** Where what a rule asks for is all that changes. */
const CALM = [
  'a rule changes to another that is good',
  'a key changes',
  'a rule gets another place',
  'rules come in another order',
  'OpenWRT is as desired',
];
const anyMoveOf = (often: readonly string[], rarely: readonly string[]) =>
  fc.record({
    move: fc.oneof(
      { arbitrary: fc.constantFrom(...often), weight: 1 },
      { arbitrary: fc.constantFrom(...rarely), weight: 2 },
    ),
    first: fc.nat({ max: 999 }),
    second: fc.nat({ max: 999 }),
  });
const historyOf = (from: typeof specs, move: ReturnType<typeof anyMoveOf>) =>
  fc.record({
    rules: fc
      .uniqueArray(fc.constantFrom(...from), {
        maxLength: 25,
        size: 'max',
        selector: ({ name }) => name,
      })
      .map((all) => [...IN_EACH, ...all].map(({ kind, name, spec }) => ruleOf(kind, name, spec))),
    moves: fc.array(move, { maxLength: 30, size: 'max' }),
  });
const anyHistory = fc.oneof(
  historyOf(specs, anyMoveOf(OFTEN, Object.keys(MOVES))),
  historyOf(good, anyMoveOf(CALM.slice(0, 2), CALM)),
);

it('makes of what is kept what it makes of all rules anew', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(anyHistory, ({ rules, moves }) => {
      const candidates = createCandidates();
      let history: History = { ...inputOf(rules), last: compile(inputOf(rules)) };
      for (const { move, first, second } of moves) {
        const { last: _last, ...input } = { ...history, ...MOVES[move]?.(history, first, second) };
        const last = compile(input);
        const kept = compile(input, candidates);
        // What `toEqual` takes ten times as long for is done where there is a difference.
        const difference = isDeepStrictEqual(kept, last) ? undefined : { move, kept, last };
        expect(difference).toBeUndefined();
        history = { ...input, last };
      }
    }),
  );
});
