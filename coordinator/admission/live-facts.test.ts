import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { ObjectKey } from '#shared/kube/path.ts';
import type { KubeObject, ResourceType, RuleObject } from '#shared/kube/objects.ts';
import type { RuleChange } from './checks/check.ts';
import { nameIsFree } from './checks/conflicts.ts';
import { isUnused, referencesExist } from './checks/references.ts';
import { workloadOf } from '../sources/workload.ts';
import { createLiveFacts } from './live-facts.ts';
import { change, context, facts, inMemory, rule, zone } from './testing/changes.ts';

const { signal } = new AbortController();

/** As a client lists them, page by page: of an object its schema alone decides what stays. */
const listing = (rules: readonly RuleObject[]): Pick<KubeClient, 'get' | 'list'> => ({
  get: () => Promise.reject(new Error('not asked for')),
  list: async <T extends KubeObject = RuleObject>({ kind, schema }: ResourceType<T>) => ({
    items: rules.filter((one) => one.kind === kind).map((one) => schema.parse(one)),
    resourceVersion: '1',
  }),
});
const seen = async (rules: readonly RuleObject[], one: RuleChange) => {
  const { kinds } = context;
  return createLiveFacts(listing(rules), () => []).rules({ change: one, kinds }, signal);
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

describe('a denial by what is cached', () => {
  /** The API server has `there`; `asked`: what was read of it, in order. */
  const confirmedBy = async (
    one: RuleChange,
    cached: readonly RuleObject[],
    there: readonly RuleObject[],
  ) => {
    const asked: string[] = [];
    const get = async <T extends object = RuleObject>(
      { kind, schema }: ResourceType<T>,
      { name }: ObjectKey,
    ): Promise<T> => {
      asked.push(`${kind} ${name}`);
      const found = there.find((rule) => rule.kind === kind && rule.metadata.name === name);
      if (found) return schema.parse(found);
      throw new KubeError('get', 'not found', { status: 404, reason: 'NotFound' });
    };
    const list = () => Promise.reject(new Error('lists nothing'));
    const scope = { change: one, kinds: context.kinds, cached: cached.map(inMemory) };
    return { asked, rules: await createLiveFacts({ get, list }, () => []).rules(scope, signal) };
  };
  const reject = (src: string, name = 'r-1') =>
    rule('FirewallRule', name, { src, target: 'REJECT' });
  const manyRules = Array.from({ length: 500 }, (_, at) => reject('lan1', `user-${at}`));

  it('reads the one reference that is missing, and names what is cached', async () => {
    const one = change({ after: reject('lan3') });
    const { asked, rules } = await confirmedBy(one, [zone('lan1'), ...manyRules], [zone('lan1')]);
    expect(asked).toEqual(['FirewallZone lan3']);
    expect(referencesExist(one, facts({ rules }), context)?.message).toMatch(/; there is: lan1$/);
  });

  it('is none where what is missing has come', async () => {
    const one = change({ after: reject('lan3') });
    const { rules } = await confirmedBy(one, [], [zone('lan3')]);
    expect(referencesExist(one, facts({ rules }), context)).toBeUndefined();
    const other = zone('lan3', { labels: { sdewanPurpose: 'cnf-2' } });
    const foreign = await confirmedBy(one, [], [other]);
    expect(referencesExist(one, facts({ rules: foreign.rules }), context)).toBeDefined();
  });

  it('reads eight users at a time, until one of them is there', async () => {
    const one = change({ before: zone('lan1') });
    const used = await confirmedBy(one, manyRules, manyRules);
    expect(used.asked).toHaveLength(8);
    expect(isUnused(one, facts({ rules: used.rules }), context)?.message).toMatch(/and 495 more/);
    const last = await confirmedBy(one, manyRules.slice(0, 10), manyRules.slice(9));
    expect(last.asked).toHaveLength(10);
    expect(isUnused(one, facts({ rules: last.rules }), context)?.message).toMatch(/by \S+ user-9;/);
    const none = await confirmedBy(one, manyRules.slice(0, 10), []);
    expect(isUnused(one, facts({ rules: none.rules }), context)).toBeUndefined();
  });

  it('reads the one that has the name', async () => {
    const one = change({ after: reject('lan1', 'user.7') });
    const others = [zone('lan1'), reject('lan1', 'user-7')];
    const { asked, rules } = await confirmedBy(one, others, others);
    expect(asked).toEqual(['FirewallRule user-7']);
    expect(nameIsFree(one, facts({ rules }), context)).toMatchObject({ reason: 'NameConflict' });
    const gone = await confirmedBy(one, others, []);
    expect(nameIsFree(one, facts({ rules: gone.rules }), context)).toBeUndefined();
  });
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

it('reads what a list of rules of a CNF lacks that is too long for a review', async () => {
  const client: Pick<KubeClient, 'get' | 'list'> = {
    list: async () => ({ items: [], resourceVersion: '', isPartial: true }),
    get: async ({ schema }) => schema.parse(zone('lan1')),
  };
  const one = change({ after: rule('FirewallRule', 'r', { src: 'lan1', target: 'REJECT' }) });
  const scope = { change: one, kinds: context.kinds };
  const rules = await createLiveFacts(client, () => []).rules(scope, signal);
  expect(referencesExist(one, facts({ rules }), context)).toBeUndefined();
});

describe('networks of a CNF', () => {
  const saying = (name: string, network: string, of: object) => ({
    metadata: {
      name,
      namespace: 'edge',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
          type: 'ovn4nfv',
          interface: [{ name: network, interface: 'net0' }],
        }),
      },
    },
    ...of,
  });
  const deployment = (network: string) => ({
    ...saying('cnf', network, { kind: 'Deployment', apiVersion: 'apps/v1' }),
    spec: { template: saying('', network, { spec: {} }) },
  });
  const cnf = { namespace: 'edge', purpose: 'cnf-1' };

  it('are read again of eight of its workloads and pods, and of no others', async () => {
    const asked: string[] = [];
    const get = async <T extends object>(
      { kind, schema }: ResourceType<T>,
      { name }: ObjectKey,
    ) => {
      asked.push(`${kind} ${name}`);
      if (kind === 'Deployment') return schema.parse(deployment('new'));
      throw new KubeError('get', 'not found', { status: 404, reason: 'NotFound' });
    };
    const list = () => Promise.reject(new Error('lists nothing'));
    const { networks } = workloadOf(deployment('old'));
    const pods = Array.from({ length: 200 }, (_, at) => ({
      kind: 'Pod',
      name: `p-${at}`,
      networks,
    }));
    const known = [{ kind: 'Deployment', name: 'cnf', networks }, ...pods];
    const live = createLiveFacts({ get, list }, () => known);
    expect([...((await live.networks(cnf, signal)) ?? [])]).toEqual(['new', 'old']);
    expect(asked).toHaveLength(8);
    const alone = createLiveFacts({ get, list }, () => known.slice(0, 8));
    expect([...((await alone.networks(cnf, signal)) ?? [])]).toEqual(['new']);
  });

  it('are not known while caches are incomplete', async () => {
    const live = createLiveFacts(listing([]), () => []);
    expect(await live.networks(cnf, signal)).toBeUndefined();
  });
});
