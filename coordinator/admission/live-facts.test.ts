import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject, ResourceType, RuleObject } from '#shared/kube/objects.ts';
import type { RuleChange } from './checks/check.ts';
import { isUnused, referencesExist } from './checks/references.ts';
import { createLiveFacts } from './live-facts.ts';
import { change, context, facts, rule, zone } from './testing/changes.ts';

const { signal } = new AbortController();

/** As a client lists them, page by page: of an object its schema alone decides what stays. */
const listing = (rules: readonly RuleObject[]): Pick<KubeClient, 'list'> => ({
  list: async <T extends KubeObject = RuleObject>({ kind, schema }: ResourceType<T>) => ({
    items: rules.filter((one) => one.kind === kind).map((one) => schema.parse(one)),
    resourceVersion: '1',
  }),
});
const seen = async (rules: readonly RuleObject[], one: RuleChange) => {
  const { kinds } = context;
  return createLiveFacts(listing(rules)).rules({ change: one, kinds }, signal);
};

const names = Array.from({ length: 1_000 }, (_, at) => `p${at}`.padEnd(253, 'x'));
const site = (name: string): RuleObject =>
  rule(
    'IpsecSite',
    name,
    {
      remote: '%any',
      authentication_method: 'psk',
      pre_shared_key: 'x',
      crypto_proposal: names.slice(0, 64),
      connections: Array.from({ length: 16 }, (_, at) => ({
        name: `c${at}`,
        conn_type: 'tunnel',
        mode: 'add',
        crypto_proposal: names.slice(64 * at, 64 * (at + 1)),
      })),
    },
    { annotations: { large: 'x'.repeat(250_000) } },
  );
const deletionOf = (name: string): RuleChange =>
  change({ before: rule('IpsecProposal', name, {}) });

it('keeps a kilobyte of the largest rules that use what is deleted, and nothing of all others', async () => {
  const sites = Array.from({ length: 20 }, (_, at) => site(`site-${at}`));
  const users = await seen(sites, deletionOf(names[999] ?? ''));
  expect(users).toHaveLength(20);
  expect(JSON.stringify(users).length).toBeLessThan(20 * 1_000);
  expect(await seen(sites, deletionOf('other'))).toEqual([]);
});

it('finds exactly what one with a thousand references uses', async () => {
  const sites = [site('site')];
  const refusalOf = async (one: RuleChange) =>
    isUnused(one, facts({ rules: await seen(sites, one) }), context);
  expect(await refusalOf(deletionOf(names[999] ?? ''))).toMatchObject({ reason: 'InUse' });
  expect(await refusalOf(deletionOf('other'))).toBeUndefined();
});

it('finds what a rule refers to', async () => {
  const rules = [zone('lan1'), zone('lan2')];
  const refusalOf = async (src: string) => {
    const one = change({ after: rule('FirewallRule', 'r', { src, target: 'REJECT' }) });
    return referencesExist(one, facts({ rules: await seen(rules, one) }), context);
  };
  expect(await refusalOf('lan2')).toBeUndefined();
  expect(await refusalOf('lan3')).toMatchObject({
    reason: 'UnknownReference',
    message: expect.stringMatching(/; there is: lan1, lan2$/),
  });
});
