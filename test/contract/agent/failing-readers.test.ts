/**
 * Each function of each kind that reads a rule or a section fails in turn, as one with a fault
 * would: the rule is not in sync and says why, it stays on OpenWRT as it is, and every other rule
 * of the CNF is judged as before.
 */
import { checkSpec } from '#shared/compile/check.ts';
import { compile } from '#shared/compile/compile.ts';
import { inputOf, namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { CompileResult } from '#shared/compile/types.ts';
import { kinds } from '#shared/resources/registry.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { allSamples, samplesOf } from '../../samples/all.ts';

/**
 * Functions of a kind: those of rules, and those of sections. Admission and the API server's schema
 * alone call the others.
 */
const OF_RULES = ['references', 'networks', 'devices', 'secrets', 'partNames'] as const;
const OF_RENDERINGS = ['lacks', 'leftOut', 'render', 'shared', 'files'] as const;
const OF_SECTIONS = ['nameOf', 'identities'] as const;
/** It reads all sections of a package together. */
const OF_PACKAGES = ['clashes'] as const;
const NOT_HERE = new Set([
  'claims',
  'shares',
  'nameCautions',
  'cautions',
  'pods',
  'specRules',
  'schema',
  'pathOf',
  'inForce',
]);

const functionsOf = (table: object): string[] =>
  Object.entries(table).flatMap(([key, value]) => (typeof value === 'function' ? [key] : []));
const onDevice = kinds.filter(({ uci }) => uci !== undefined);

it('lists all functions', () => {
  const all = onDevice.flatMap((kind) => [...functionsOf(kind), ...functionsOf(kind.uci ?? {})]);
  const listed = new Set<string>([
    ...OF_RULES,
    ...OF_RENDERINGS,
    ...OF_SECTIONS,
    ...OF_PACKAGES,
    ...NOT_HERE,
  ]);
  expect([...new Set(all)].filter((name) => !listed.has(name))).toEqual([]);
});

const fail = (): never => {
  throw new Error('injected');
};
const others = allSamples.flatMap(({ kind, ofIcn, rendered }) => {
  const [sample] = [...rendered, ...ofIcn];
  return sample ? [ruleOf(kind, sample.name, sample.spec)] : [];
});
const judge = (rules: readonly ReturnType<typeof ruleOf>[], there?: CompileResult) => {
  const observed = new Map(inputOf([]).observed);
  const ledger = new Set<string>();
  for (const [name, sections] of there?.desired ?? []) {
    const factory = observed.get(name)?.sections ?? [];
    observed.set(name, { name, sections: [...factory, ...sections] });
    for (const section of sections) ledger.add(`${name}.${section.name}`);
  }
  return compile(inputOf(rules, { observed, ledger }));
};
const named = ({ verdicts }: CompileResult, name: string) =>
  verdicts.find(({ rule }) => rule.metadata.name === name);

/** The function fails where `isVictims` of its arguments. */
const inject = (
  table: object,
  name: string,
  isVictims: (...given: readonly unknown[]) => boolean,
): void => {
  const original: unknown = Reflect.get(table, name);
  if (typeof original !== 'function') throw new Error(`no function ${name}`);
  const replaced = (...given: readonly unknown[]): unknown =>
    isVictims(...given) ? fail() : Reflect.apply(original, table, given);
  vi.spyOn(table as Record<string, () => unknown>, name).mockImplementation(replaced);
};
afterEach(() => void vi.restoreAllMocks());

describe.each(onDevice.map((kind) => [kind.kind, kind] as const))('%s', (kindName, kind) => {
  const beside = others.filter((rule) => rule.kind !== kindName);
  const { ofIcn, rendered } = samplesOf(kindName);
  const candidates = [...rendered, ...ofIcn].map(({ annotations = {}, spec }) => {
    const victim = ruleOf(kindName, 'victim', spec, { annotations });
    return { victim, verdict: named(judge([...beside, victim]), 'victim')?.verdict };
  });
  const found =
    candidates.find(({ verdict }) => verdict === 'wanted') ??
    candidates.find(({ verdict }) => verdict === 'pending');
  if (!found) throw new Error('no sample can be put into force');
  const rules = [...beside, found.victim];
  const checked = checkSpec(kind, found.victim.spec);
  const spec = JSON.stringify('spec' in checked ? checked.spec : undefined);
  const atFirst = judge(rules);
  const isVictims = (...[given, context]: readonly unknown[]): boolean =>
    context === undefined ? JSON.stringify(given) === spec : Object(context).crName === 'victim';

  const functions = [
    ...OF_RULES.map((name) => [name, kind as object] as const),
    ...OF_RENDERINGS.map((name) => [name, kind.uci as object] as const),
  ].filter(([name, table]) => functionsOf(table).includes(name));

  it.each(functions)('leaves one rule alone not in sync where %s fails', (name, table) => {
    inject(table, name, isVictims);
    const { desired, verdicts } = judge(rules, atFirst);
    expect(verdicts.filter(({ rule }) => rule.metadata.name !== 'victim')).toEqual(
      atFirst.verdicts.filter(({ rule }) => rule.metadata.name !== 'victim'),
    );
    expect(named({ desired, verdicts }, 'victim')).toMatchObject({
      verdict: 'failed',
      reason: 'NotInForce',
      message: 'the agent cannot tell what OpenWRT is to have for the rule: injected',
    });
    const own = kind.uci?.package ?? '';
    const shared = kind.uci?.shared === undefined ? [] : ['zone'];
    const plain = (result: CompileResult) =>
      result.desired.get(own)?.filter(({ type }) => !shared.includes(type));
    expect(plain({ desired, verdicts })).toEqual(plain(atFirst));
  });
});

describe.each(OF_SECTIONS)('a section of others at which %s fails', (name) => {
  it('changes no verdict', () => {
    const foreign = namedSection('zone', 'by_hand', { name: 'by_hand' });
    const observed = new Map(inputOf([]).observed);
    for (const [key, { sections }] of observed)
      observed.set(key, { name: key, sections: [...sections, foreign] });
    const verdicts = () => compile(inputOf(others, { observed })).verdicts;
    const before = verdicts();
    for (const { uci } of onDevice)
      if (uci?.[name]) inject(uci, name, (section) => Object(section).name === 'by_hand');
    expect(verdicts()).toEqual(before);
  });
});

describe.each(OF_PACKAGES)('where %s fails', (name) => {
  const packages = new Set(onDevice.flatMap(({ uci }) => (uci?.[name] ? [uci.package] : [])));

  it('leaves no rule of the package in sync, and judges all others as before', () => {
    const before = judge(others);
    for (const { uci } of onDevice) if (uci?.[name]) inject(uci, name, () => true);
    const after = judge(others);
    const isOfPackage = ({ rule }: CompileResult['verdicts'][number]): boolean =>
      onDevice.some(({ kind, uci }) => kind === rule.kind && packages.has(uci?.package ?? ''));
    const inForce = after.verdicts.filter((one) => isOfPackage(one) && one.verdict === 'wanted');
    expect(inForce.length).toBeGreaterThan(0);
    for (const { clash } of inForce) expect(clash).toMatch(/^the agent cannot tell .*: injected$/);
    expect(after.desired).toEqual(before.desired);
    expect(after.verdicts.filter((one) => !isOfPackage(one))).toEqual(
      before.verdicts.filter((one) => !isOfPackage(one)),
    );
  });
});
