import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RuleObject } from '../kube/objects.ts';
import { ORDER_ANNOTATION } from '../names.ts';
import { formatPackage } from '../uci/format.ts';
import { compile } from './compile.ts';
import { isBeingDeleted, keptInUse } from './in-use.ts';
import { DELETING, inputOf, ruleOf } from './testing.ts';
import type { CompileInput, CompileResult } from './types.ts';

const zoneNames = fc.constantFrom('lan1', 'lan2', 'a-b', 'a.b', 'wan');
const specs: Record<string, fc.Arbitrary<unknown>> = {
  FirewallZone: fc.constantFrom({ network: ['ovn-net1'] }, { network: ['nowhere'] }, {}),
  FirewallRule: fc.record({ src: zoneNames, target: fc.constantFrom('DROP', 'ACCEPT', 'PASS') }),
  FirewallForwarding: fc.record({ src: zoneNames, dest: zoneNames }),
  Mwan3Policy: fc.constantFrom(
    { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] },
    { members: [{ network: 'ovn-priv-net', metric: 1, weight: 1 }] },
    { members: [] },
  ),
  Mwan3Rule: fc.record({ policy: zoneNames, proto: fc.constantFrom('tcp', 'nonsense') }),
};

const anyRule: fc.Arbitrary<RuleObject> = fc
  .record({
    kind: fc.constantFrom(...Object.keys(specs)),
    name: fc.constantFrom('lan1', 'lan2', 'a-b', 'a.b', 'c', 'd', 'wan'),
    second: fc.integer({ min: 0, max: 3 }),
    order: fc.option(fc.constantFrom('-1', '1', 'x'), { nil: undefined }),
    deleting: fc.boolean(),
  })
  .chain(({ kind, name, second, order, deleting }) =>
    (specs[kind] ?? fc.constant({})).map((spec) =>
      ruleOf(kind, name, spec, {
        creationTimestamp: `2026-01-01T00:00:0${second}Z`,
        ...(order === undefined ? {} : { annotations: { [ORDER_ANNOTATION]: order } }),
        ...(deleting ? DELETING : {}),
      }),
    ),
  );
const anyRules = fc.uniqueArray(anyRule, {
  selector: ({ kind, metadata }) => `${kind}/${metadata.name}`,
  maxLength: 14,
});

const anyShuffle = anyRules.chain((rules) =>
  fc.record({
    rules: fc.constant(rules),
    shuffled: fc.shuffledSubarray(rules, { minLength: rules.length }),
  }),
);

const textOf = ({ desired }: CompileResult): string =>
  [...desired].map(([name, sections]) => name + formatPackage({ name, sections })).join('');

const verdictsByUid = (input: CompileInput) =>
  new Map(compile(input).verdicts.map(({ rule, ...verdict }) => [rule.metadata.uid, verdict]));

describe('compile', () => {
  it('gives the same bytes and verdicts in any order of the rules', () => {
    fc.assert(
      fc.property(anyShuffle, ({ rules, shuffled }) => {
        expect(textOf(compile(inputOf(shuffled)))).toBe(textOf(compile(inputOf(rules))));
        expect(verdictsByUid(inputOf(shuffled))).toEqual(verdictsByUid(inputOf(rules)));
      }),
    );
  });

  it('gives every rule its verdict, and desires just the sections that verdicts name', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const { desired, verdicts } = compile(inputOf(rules));
        expect(verdicts.map(({ rule }) => rule)).toEqual(rules);
        const named = verdicts.flatMap(({ sections }) =>
          sections.map((s) => `${s.package}.${s.name}`),
        );
        const all = [...desired].flatMap(([name, sections]) =>
          sections.map((s) => `${name}.${s.name}`),
        );
        expect(all.sort()).toEqual(named.sort());
        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  it('changes the sections of no other rule when a rule without users becomes invalid', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const victim = ruleOf('FirewallRule', 'victim', { src: 'wan', target: 'DROP' });
        const broken = { ...victim, spec: { src: 'wan', target: 'nonsense' } };
        const sectionsWith = (rule: RuleObject) =>
          compile(inputOf([...rules, rule]))
            .desired.get('firewall')
            ?.filter(({ name }) => name !== 'sdewan_rule_victim');
        expect(sectionsWith(broken)).toEqual(sectionsWith(victim));
      }),
    );
  });

  it('never puts a rule into force whose reference is not in force', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const { desired } = compile(inputOf(rules));
        const firewall = desired.get('firewall') ?? [];
        const zones = firewall
          .filter(({ type }) => type === 'zone')
          .map(({ options }) => options.name);
        const others = firewall.filter(({ type }) => type !== 'zone');
        const dangling = others.filter(({ options }) => !['wan', ...zones].includes(options.src));
        expect(dangling).toEqual([]);
      }),
    );
  });

  it('keeps a rule that is being deleted exactly while one that stays refers to it', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const kept = keptInUse(rules);
        const removed = compile(inputOf(rules)).verdicts.filter(
          ({ verdict }) => verdict === 'unwanted',
        );
        const leaving = rules.filter(isBeingDeleted).filter((rule) => !kept.has(rule.metadata.uid));
        expect(removed.map(({ rule }) => rule)).toEqual(leaving);
      }),
    );
  });
});

it('compiles ten times the rules in a time that grows with them', () => {
  const many = Array.from({ length: 5_000 }, (_, index) =>
    ruleOf('FirewallRule', `rule-${index}`, {
      src: 'wan',
      src_ip: `10.${index >> 8}.${index & 255}.1`,
      dest_port: 80,
      proto: 'tcp',
      target: 'DROP',
    }),
  );
  /** This thread's time alone, and the least of three: the rest of the machine only adds. */
  const cost = (rules: readonly RuleObject[]): number =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const before = process.threadCpuUsage();
        const { desired } = compile(inputOf(rules));
        expect(desired.get('firewall')).toHaveLength(rules.length);
        return process.threadCpuUsage(before).user;
      }),
    );
  // A millisecond cannot be measured well.
  expect(cost(many)).toBeLessThan(40 * Math.max(cost(many.slice(0, 500)), 1_000));
});
