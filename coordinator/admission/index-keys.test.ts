import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Index } from '#shared/kube/informer/key-index.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import type { RuleChange } from './checks/check.ts';
import { ruleChecks } from './checks/list.ts';
import { filterOf, type KeptRule } from '../sources/kept-rule.ts';
import { isUnused } from './checks/references.ts';
import { findRefusals } from './decide.ts';
import { change, context, facts, inMemory, rule, zone } from './testing/changes.ts';
import { indexKeysOf, indexKeysFor, keysToLookUp } from './index-keys.ts';

const names = fc.constantFrom('lan1', 'a-b', 'a.b');
const specs: Record<string, fc.Arbitrary<object>> = {
  FirewallZone: fc.constant({ network: ['ovn-net1'] }),
  FirewallRule: fc.record({ src: names, target: fc.constant('DROP') }),
  FirewallForwarding: fc.record({ src: names, dest: names }),
  Mwan3Policy: fc.constantFrom({ members: [{ network: 'net1', metric: 1, weight: 1 }] }, {}),
  Mwan3Rule: fc.record({ policy: names }),
};
const anyRule = fc
  .record({
    kind: fc.constantFrom(...Object.keys(specs)),
    name: names,
    going: fc.boolean(),
    purpose: fc.constantFrom('cnf-1', 'cnf-1', 'cnf-1', 'cnf-2'),
    namespace: fc.constantFrom('edge', 'edge', 'edge', 'other'),
  })
  .chain(({ kind, name, going, purpose, namespace }) =>
    (specs[kind] ?? fc.constant({})).map((spec) =>
      rule(kind, name, spec, {
        namespace,
        uid: `${kind}/${namespace}/${name}`,
        labels: { sdewanPurpose: purpose },
        ...(going && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
      }),
    ),
  );
const anyRules = fc.uniqueArray(anyRule, {
  selector: ({ metadata }) => metadata.uid,
  maxLength: 14,
});

const anyChange = fc
  .record({ one: anyRule, spec: anyRule, operation: fc.constantFrom('create', 'update', 'delete') })
  .map(({ one, spec, operation }): RuleChange => {
    if (operation === 'create') return change({ after: one });
    if (operation === 'delete') return change({ before: one });
    return change({ before: one, after: { ...one, spec: spec.spec } });
  });

const lookUp = (rules: readonly RuleObject[]): ((indexKeys: readonly string[]) => RuleObject[]) => {
  const index = new Index();
  for (const one of rules) index.set(one.metadata.uid, indexKeysOf(one, filterOf(one)));
  return (indexKeys) =>
    rules.filter(({ metadata }) =>
      indexKeys.some((indexKey) => index.ids(indexKey).has(metadata.uid)),
    );
};

/** As it is listed on the API server before a denial. */
const asListed = (one: RuleObject, about: RuleChange): KeptRule => ({
  ...inMemory(one),
  indexKeys: indexKeysFor(one, about, filterOf(one)),
});

const ofOneCnf = (rules: readonly RuleObject[], { namespace, purpose }: RuleChange): RuleObject[] =>
  rules.filter(
    ({ metadata }) =>
      metadata.namespace === namespace && metadata.labels?.['sdewanPurpose'] === purpose,
  );

describe('the rules that are looked up for a change', () => {
  it('give the same result of the checks as all rules of the CNF', () => {
    fc.assert(
      fc.property(anyRules, anyChange, (rules, one) => {
        const tied = lookUp(rules)(keysToLookUp(one));
        const refusalsOn = (seen: readonly RuleObject[]) =>
          findRefusals(ruleChecks, one, facts({ rules: seen }), context).map(
            ({ refusal: { reason, message } }) => ({
              reason,
              // What may have been meant is named of those that are seen.
              message: message.replace(/; there is: .*$/, ''),
            }),
          );
        expect(refusalsOn(tied)).toEqual(refusalsOn(ofOneCnf(rules, one)));
        expect(refusalsOn(tied.map(inMemory))).toEqual(refusalsOn(tied));
        const listed = ofOneCnf(rules, one).map((rule) => asListed(rule, one));
        expect(refusalsOn(listed.filter(({ indexKeys }) => indexKeys.length > 0))).toEqual(
          refusalsOn(tied),
        );
      }),
      { numRuns: caseCount(1_000) },
    );
  });

  it('are as few with 10,000 rules as with ten', () => {
    const reject = (index: number): RuleObject =>
      rule('FirewallRule', `r-${index}`, { src: `lan${index % 7}`, target: 'REJECT' });
    const zones = Array.from({ length: 7 }, (_, index) => zone(`lan${index}`));
    const find = lookUp([...zones, ...Array.from({ length: 10_000 }, (_, index) => reject(index))]);
    const create = change({ after: reject(10_000) });
    expect(find(keysToLookUp(create))).toEqual([zones[10_000 % 7]]);
    expect(find(keysToLookUp(change({ before: reject(1) })))).toEqual([]);
  });

  it('are few for one with a thousand references, which is looked at before any of them may go', () => {
    const names = Array.from({ length: 64 }, (_, index) => `p${index}`);
    const connection = { name: 'c', conn_type: 'tunnel', mode: 'add', crypto_proposal: names };
    const site = rule('IpsecSite', 'site', {
      remote: '%any',
      authentication_method: 'psk',
      pre_shared_key: 'x',
      crypto_proposal: names,
      connections: [connection],
    });
    expect(indexKeysOf(site, undefined).length).toBeLessThan(8);
    const deletionOf = (name: string): RuleChange =>
      change({ before: rule('IpsecProposal', name, {}) });
    const refused = (name: string, of: RuleObject): unknown =>
      isUnused(
        deletionOf(name),
        facts({ rules: lookUp([of])(keysToLookUp(deletionOf(name))) }),
        context,
      );
    expect(refused('p63', site)).toBeDefined();
    expect(refused('other', site)).toBeUndefined();
    // Before a denial the API server is asked, whose copy has its spec.
    const kept = { ...inMemory(site) };
    const seen = facts({ rules: [kept] });
    expect(isUnused(deletionOf('p63'), seen, context)).toBeDefined();
    expect(isUnused(deletionOf('other'), seen, context)).toBeDefined();
  });

  it('are none for a rule without a purpose', () => {
    expect(
      indexKeysOf(rule('FirewallRule', 'a', { src: 'lan1' }, { labels: {} }), { src: 'lan1' }),
    ).toEqual([]);
  });
});
