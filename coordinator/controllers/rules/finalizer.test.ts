import { describe, expect, it } from 'vitest';
import { firewallZone as resource } from '#shared/resources/rules/firewall-zone.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { AGENTS_FINALIZER, ICN_FINALIZERS } from '#shared/names.ts';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleVersion } from '../../sources/rules.ts';
import { rule } from '../../testing/facts.ts';
import { addOurFinalizer, hasOurFinalizers, removeOurFinalizers } from './finalizer.ts';

const SOMEBODYS = 'example.org/backup';

const ruleWith = (...finalizers: string[]): RuleVersion => ({
  resource,
  rule: rule(),
  object: ruleOf('FirewallZone', 'lan1', {}, { finalizers }),
});

/** What the API server is asked for: the rule in the judged version, with these finalizers. */
const asked = async (write: typeof addOurFinalizer, version: RuleVersion): Promise<unknown[]> => {
  const calls: unknown[][] = [];
  const client = { patch: async (...call: unknown[]) => void calls.push(call) };
  const { signal } = new AbortController();
  await write(client as unknown as KubeClient, version, signal);
  return calls.map(([type, object, options]) => {
    expect([type, object]).toMatchObject([
      { plural: resource.plural },
      { namespace: 'default', name: 'lan1' },
    ]);
    const { metadata } = version.object;
    const judged = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    expect(options).toMatchObject({ signal, patch: { type: 'merge', body: { metadata: judged } } });
    return (options as { patch: { body: { metadata: { finalizers: unknown } } } }).patch.body
      .metadata.finalizers;
  });
};

describe('a rule is kept by a finalizer', () => {
  it.each<[string, string[], boolean]>([
    ['by our finalizer', [SOMEBODYS, AGENTS_FINALIZER], true],
    ["by one of ICN's", [...ICN_FINALIZERS], true],
    ["not by somebody else's", [SOMEBODYS], false],
    ['not without any', [], false],
  ])('%s', (_name, finalizers, expected) => {
    expect(hasOurFinalizers(ruleWith(...finalizers))).toBe(expected);
  });

  it('not where it never had finalizers', () => {
    const never = { ...ruleWith(), object: ruleOf('FirewallZone', 'lan1', {}) };
    expect(hasOurFinalizers(never)).toBe(false);
  });
});

it('adding it keeps those of others, and adds our finalizer to those that it has', async () => {
  expect(await asked(addOurFinalizer, ruleWith(SOMEBODYS))).toEqual([
    [SOMEBODYS, AGENTS_FINALIZER],
  ]);
});

it("releasing a rule removes our finalizer and ICN's, and leaves the others", async () => {
  const version = ruleWith(AGENTS_FINALIZER, SOMEBODYS, ...ICN_FINALIZERS);
  expect(await asked(removeOurFinalizers, version)).toEqual([[SOMEBODYS]]);
});
