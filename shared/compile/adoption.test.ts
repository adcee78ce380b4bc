import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RuleObject } from '../kube/objects.ts';
import { ICN_FINALIZERS, ORDER_ANNOTATION } from '../names.ts';
import { applyDelta, deltaOf } from '../uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '../uci/model.ts';
import { takeoversIn, type Takeover } from './adoption.ts';
import { compile } from './compile.ts';
import { ownershipOf } from './ownership.ts';
import { pinnedIn } from './pinned.ts';
import { DELETING, inputOf, namedSection, ruleOf } from './testing.ts';

const ICN = { finalizers: [ICN_FINALIZERS[0] ?? ''] };
const anonymous = (type: string, options: UciSection['options']) => ({ type, options });
type Anonymous = ReturnType<typeof anonymous>;

/** The firewall of a CNF, anonymous sections with ids as libuci would give them. */
const firewallOf = (...sections: (Anonymous | UciSection)[]): UciPackage => ({
  name: 'firewall',
  sections: [namedSection('defaults', 'defaults'), ...sections].map((section, place) =>
    'name' in section ? section : { ...section, name: `cfg${place}`, anonymous: true },
  ),
});

const NOTHING = {
  ledger: new Map<string, string>(),
  begun: new Set<string>(),
  removed: new Set<string>(),
};

/** As OpenWRT has it when the names are given. */
const named = (firewall: UciPackage, takeovers: readonly Takeover[]): UciPackage => ({
  ...firewall,
  sections: firewall.sections.map((section) => {
    const name = takeovers.find(({ found }) => found === section)?.name;
    return name === undefined ? section : { ...section, name, anonymous: false };
  }),
});

const planOf = (
  rules: readonly RuleObject[],
  firewall: UciPackage,
  state: Partial<typeof NOTHING> & { inPlace?: ReadonlyMap<string, string> } = {},
): { takeovers: readonly Takeover[]; there: UciPackage; delta: UciDelta } => {
  const input = inputOf(rules);
  const observed = new Map([...input.observed, ['firewall', firewall] as const]);
  const takeovers = takeoversIn({ observed, rules, ...NOTHING, ...state });
  const uids = new Map(takeovers.map(({ name, uid = '' }) => [`firewall.${name}`, uid]));
  const keys = [...(state.inPlace?.keys() ?? []), ...uids.keys()];
  const ledger = new Set([...(state.ledger?.keys() ?? []), ...keys]);
  const there = named(firewall, takeovers);
  const compiled = compile({
    ...input,
    observed: new Map([...observed, ['firewall', there]]),
    ledger,
  });
  const delta = deltaOf({
    observed: there,
    desired: compiled.desired.get('firewall') ?? [],
    isOurs: ownershipOf('firewall', ledger),
    pinned: pinnedIn(there, new Map([...(state.inPlace ?? []), ...uids]), compiled),
  });
  return { takeovers, there, delta };
};

const zone = (name: string, metadata: object = ICN) =>
  ruleOf('FirewallZone', name, { network: ['ovn-net1'] }, metadata);
const rule = (name: string, spec: object = { target: 'DROP' }, metadata: object = ICN) =>
  ruleOf('FirewallRule', name, spec, metadata);

const madeRule = (name: string, target = 'DROP') => anonymous('rule', { name, target });
const madeZone = (name: string) => anonymous('zone', { name, network: ['net1'] });
const shape = ({ remove, set, append }: UciDelta) => ({
  remove: [...remove],
  set: set.map(({ after }) => after.name),
  append: append.map(({ name }) => name),
});

describe('adoption', () => {
  const cases: Record<
    string,
    {
      rules: RuleObject[];
      there: (Anonymous | UciSection)[];
      state?: Partial<typeof NOTHING>;
      expected: Partial<ReturnType<typeof shape>>;
    }
  > = {
    'of what is as the CR says changes nothing': {
      rules: [rule('a'), zone('lan1')],
      there: [madeZone('lan1'), madeRule('a')],
      expected: {},
    },
    'changes what differs, in its place': {
      rules: [rule('a', { target: 'ACCEPT' })],
      there: [madeRule('a'), madeRule('of-an-administrator')],
      expected: { set: ['sdewan_rule_a'] },
    },
    'gives a zone the name that OpenWRT can hold': {
      rules: [zone('my-lan')],
      there: [madeZone('my-lan')],
      expected: { set: ['sdewan_zone_my_lan'] },
    },
    'keeps the first of doubles': {
      rules: [rule('a')],
      there: [madeRule('a'), madeRule('a'), madeRule('a', 'ACCEPT')],
      expected: { remove: ['sdewan_rule_a__2', 'sdewan_rule_a__3'] },
    },
    'of a CR that is being deleted removes': {
      rules: [rule('a', { target: 'DROP' }, { ...ICN, ...DELETING })],
      there: [madeRule('a')],
      expected: { remove: ['sdewan_rule_a'] },
    },
    'of a CR that is being deleted happens once': {
      rules: [rule('a', { target: 'DROP' }, { ...ICN, ...DELETING })],
      there: [madeRule('a')],
      state: { removed: new Set(['FirewallRule-a']) },
      expected: {},
    },
    'holds without the finalizer and without the CR, by the ledger': {
      rules: [rule('a', { target: 'ACCEPT' }, {})],
      there: [madeRule('a'), madeRule('b-1')],
      state: {
        ledger: new Map([
          ['firewall.sdewan_rule_a', 'FirewallRule'],
          ['firewall.sdewan_rule_b_1', 'FirewallRule'],
        ]),
        begun: new Set(['firewall.sdewan_rule_a', 'firewall.sdewan_rule_b_1']),
      },
      expected: { set: ['sdewan_rule_a'], remove: ['sdewan_rule_b_1'] },
    },
    "is not for a CR that ICN's controller never applied": {
      rules: [rule('a', { target: 'ACCEPT' }, {})],
      there: [madeRule('a')],
      expected: { append: ['sdewan_rule_a'] },
    },
    'leaves what comes beside ours': {
      rules: [rule('a')],
      there: [madeRule('a'), namedSection('rule', 'sdewan_rule_a', { name: 'a', target: 'DROP' })],
      expected: {},
    },
    'that was begun takes as many as it was begun with': {
      rules: [rule('a')],
      there: [madeRule('a'), madeRule('a', 'ACCEPT')],
      state: {
        ledger: new Map([['firewall.sdewan_rule_a', 'FirewallRule']]),
        begun: new Set(['firewall.sdewan_rule_a']),
      },
      expected: {},
    },
    'that was begun with doubles takes no more of them': {
      rules: [rule('a')],
      there: [madeRule('a'), madeRule('a'), madeRule('a')],
      state: {
        ledger: new Map([
          ['firewall.sdewan_rule_a', 'FirewallRule'],
          ['firewall.sdewan_rule_a__2', 'FirewallRule'],
        ]),
        begun: new Set(['firewall.sdewan_rule_a', 'firewall.sdewan_rule_a__2']),
      },
      expected: { remove: ['sdewan_rule_a__2'] },
    },
    'is not of a section whose name only UCI takes for the same': {
      rules: [rule('a-b')],
      there: [madeRule('a.b')],
      expected: { append: ['sdewan_rule_a_b'] },
    },
    'leaves what cannot be put into force as it is': {
      rules: [rule('a', { target: 'nonsense' }), rule('b', { src: 'nowhere', target: 'DROP' })],
      there: [madeRule('a'), madeRule('b'), namedSection('rule', 'sdewan_rule_old')],
      expected: { remove: ['sdewan_rule_old'] },
    },
    'moves for an order annotation only': {
      rules: [
        rule('a'),
        rule('b', { target: 'DROP' }, { annotations: { [ORDER_ANNOTATION]: '-1' } }),
      ],
      there: [madeZone('lan1'), madeRule('a')],
      expected: { remove: ['sdewan_rule_a'], append: ['sdewan_rule_b', 'sdewan_rule_a'] },
    },
  };
  it.each(Object.entries(cases))('%s', (_name, { rules, there, state, expected }) => {
    const { delta } = planOf(rules, firewallOf(...there), state);
    expect(shape(delta)).toEqual({ remove: [], set: [], append: [], ...expected });
  });

  it('is for the kind that ICN made the section for, whatever else has the name', () => {
    const redirect = anonymous('redirect', { name: 'a', target: 'DNAT' });
    const rules = [
      ruleOf('FirewallSNAT', 'a', {}, ICN),
      ruleOf('FirewallDNAT', 'a', {}, ICN),
      rule('a'),
    ];
    const { takeovers } = planOf(rules, firewallOf(redirect, madeRule('a'), madeZone('a')));
    expect(takeovers.map(({ name, uid }) => [name, uid])).toEqual([
      ['sdewan_rule_a', 'FirewallRule-a'],
      ['sdewan_dnat_a', 'FirewallDNAT-a'],
    ]);
  });

  it('gives one that was begun to the CR, if it is there, and to none if it is not', () => {
    const keys = ['firewall.sdewan_rule_a', 'firewall.sdewan_rule_b'];
    const state = {
      ledger: new Map(keys.map((key) => [key, 'FirewallRule'])),
      begun: new Set(keys),
    };
    const there = firewallOf(madeRule('a'), madeRule('b'));
    const { takeovers } = planOf([rule('a', {}, {})], there, state);
    expect(takeovers.map(({ name, uid }) => [name, uid])).toEqual([
      ['sdewan_rule_a', 'FirewallRule-a'],
      ['sdewan_rule_b', undefined],
    ]);
  });

  it('gives a section that two CRs could have to the older one', () => {
    const older = rule('a.b', {}, { ...ICN, creationTimestamp: '2025-01-01T00:00:00Z' });
    const { takeovers } = planOf([rule('a-b'), older], firewallOf(madeRule('a_b')));
    expect(takeovers.map(({ name, uid }) => [name, uid])).toEqual([
      ['sdewan_rule_a_b', 'FirewallRule-a.b'],
    ]);
  });

  it('takes over members and connections with their policy or remote, and nothing of another type', () => {
    const observed = new Map([
      [
        'mwan3',
        {
          name: 'mwan3',
          sections: [
            namedSection('interface', 'both'),
            namedSection('member', 'p_net1', { interface: 'net1' }),
            namedSection('member', 'somebodys', { interface: 'net2' }),
            namedSection('policy', 'p', { use_member: ['p_net1', 'somebodys'] }),
          ],
        },
      ],
    ]);
    const rules = [ruleOf('Mwan3Policy', 'p', {}, ICN), ruleOf('Mwan3Rule', 'both', {}, ICN)];
    const takeovers = takeoversIn({ observed, rules, ...NOTHING });
    expect(takeovers.map(({ name }) => name)).toEqual(['p', 'p_net1']);
  });
});

const names = ['a', 'b', 'c-1', 'd'];
const anyCr = fc.record({
  name: fc.constantFrom(...names),
  isZone: fc.boolean(),
  icn: fc.boolean(),
  deleting: fc.boolean(),
  target: fc.constantFrom('DROP', 'ACCEPT', 'nonsense'),
  second: fc.integer({ min: 0, max: 3 }),
  order: fc.constantFrom(undefined, undefined, '1', '-1'),
});
const anyCrs = fc
  .uniqueArray(anyCr, { selector: ({ name, isZone }) => `${name} ${isZone}`, maxLength: 6 })
  .map((all) =>
    all.map(({ name, isZone, icn, deleting, target, second, order }) => {
      const metadata = {
        ...(icn ? ICN : {}),
        ...(deleting ? DELETING : {}),
        ...(order === undefined ? {} : { annotations: { [ORDER_ANNOTATION]: order } }),
        creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      };
      return isZone ? zone(name, metadata) : rule(name, { target }, metadata);
    }),
  );
const anyMade = fc
  .array(
    fc.oneof(
      fc.constantFrom(...names, 'admin').map((name) => madeRule(name)),
      fc.constantFrom(...names, 'admin').map((name) => madeZone(name)),
      fc.constantFrom(...names).map((name) => namedSection('rule', `admin_${name}`, { name })),
    ),
    { maxLength: 8 },
  )
  .map((made) =>
    firewallOf(
      ...new Map(
        made.map((section, at) => ['name' in section ? section.name : at, section]),
      ).values(),
    ),
  );

describe('whatever there is', () => {
  it('loses no section of a CR that stays, and leaves sections of others as and where they are', () => {
    fc.assert(
      fc.property(anyCrs, anyMade, (rules, firewall) => {
        const { takeovers, there, delta } = planOf(rules, firewall);
        const after = applyDelta(there, delta);
        const staying = new Set(
          rules
            .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
            .map(({ metadata }) => metadata.uid),
        );
        for (const uid of new Set(takeovers.map((each) => each.uid))) {
          if (!staying.has(uid ?? '')) continue;
          const mine = new Set(
            takeovers.filter((each) => each.uid === uid).map(({ name }) => name),
          );
          expect(after.sections.some(({ name }) => mine.has(name))).toBe(true);
        }
        const others = (sections: readonly UciSection[]) =>
          sections.filter(({ name }) => !name.startsWith('sdewan_'));
        expect(others(after.sections)).toEqual(others(there.sections));
      }),
    );
  });

  it('names what it takes over, and leaves everything as and where it is', () => {
    fc.assert(
      fc.property(anyCrs, anyMade, (rules, firewall) => {
        const { takeovers, there } = planOf(rules, firewall);
        const contents = ({ sections }: UciPackage) =>
          sections.map(({ type, options }) => ({ type, options }));
        expect(contents(there)).toEqual(contents(firewall));
        const names = there.sections.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        for (const { found } of takeovers) expect(found.anonymous).toBe(true);
      }),
    );
  });

  it('is stable: its result needs no further change', () => {
    fc.assert(
      fc.property(anyCrs, anyMade, (rules, firewall) => {
        const first = planOf(rules, firewall);
        const { remove, append } = first.delta;
        const gone = new Set([...remove, ...append.map(({ name }) => name)]);
        const inPlace = new Map(
          first.takeovers
            .filter(({ name }) => !gone.has(name))
            .map(({ name, uid = '' }) => [`firewall.${name}`, uid]),
        );
        const leaving = rules.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
        const removed = new Set(leaving.map(({ metadata }) => metadata.uid));
        const again = applyDelta(first.there, first.delta);
        const { takeovers, delta } = planOf(rules, again, { removed, inPlace });
        expect(takeovers).toEqual([]);
        expect(shape(delta)).toEqual({ remove: [], set: [], append: [] });
      }),
    );
  });
});
