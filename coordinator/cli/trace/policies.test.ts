import { describe, expect, it } from 'vitest';
import { networkPolicySpecSchema } from '#shared/policy/network-policy.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import { EXIT } from '../command.ts';
import { compiledOf, groupsWith, metadataAt, shopPod } from '../policies/testing.ts';
import { runCli } from '../testing.ts';
import { policyTraceText, policyTraceView, policyTraceViewSchema } from './policies.ts';

const PODS = [shopPod('web', '10.1.1.1'), shopPod('db', '10.1.2.1'), shopPod('job', '10.1.9.1')];
/** The networks of cnf-1: the first two pods are neighbours there. */
const NETWORKS = [{ name: 'net1', subnets: ['10.1.0.0/22', '10.1.8.0/22'] }];

/** At cnf-1, as the coordinator writes it. */
const factsOf = (policies: Record<string, object>, { inSync = true, place = 'cluster' } = {}) => {
  const compiled = Object.entries(policies).map(([name, spec]) => ({
    name,
    ...compiledOf({ namespace: 'shop', spec: networkPolicySpecSchema.parse(spec) }),
  }));
  return {
    enforcements: compiled.map(({ name, enforcement }) => ({
      metadata: metadataAt(`shop.${name}`),
      spec: {
        policy: { namespace: 'shop', name, uid: name, generation: 1 },
        place,
        ...writtenOf(enforcement),
      },
      status: { inSync },
    })),
    networks: [{ namespace: 'edge', purpose: 'cnf-1', networks: NETWORKS }],
    groups: compiled.flatMap(({ groups }) => groupsWith(groups, PODS)),
  };
};
const only = (app: string) => ({ podSelector: { matchLabels: { app } } });
const DB = {
  ...only('db'),
  ingress: [{ from: [only('web')], ports: [{ protocol: 'TCP', port: 5_432 }] }],
};
const traced = (
  facts: ReturnType<typeof factsOf>,
  [from, to]: readonly [string, string],
  port = 5_432,
) => {
  const end = (name: string) => ({
    name: `shop/${name}`,
    address: PODS.find((one) => one.name === name)?.addresses[0] ?? name,
  });
  const packet = { protocol: 'TCP', port } as const;
  return policyTraceView(facts, { from: end(from), to: end(to), packet });
};

describe('what NetworkPolicies at CNFs say of a packet', () => {
  it.each([
    [['web', 'db'], 5_432, 'allowed'],
    [['web', 'db'], 5_433, 'denied'],
    [['job', 'db'], 5_432, 'denied'],
    [['db', 'job'], 5_432, 'allowed'],
  ] as const)('%j port %i: %s', (ends, port, verdict) => {
    const view = traced(factsOf({ db: DB }), ends, port);
    policyTraceViewSchema.parse(JSON.parse(JSON.stringify(view)));
    expect(view.verdict).toBe(verdict);
  });

  it('names the policy that lets it pass, and those of which none does', () => {
    const both = { db: DB, none: { ...only('db'), ingress: [] } };
    const allowed = policyTraceText(traced(factsOf(both), ['web', 'db']));
    expect(allowed).toMatch(/edge\/cnf-1 +cluster +ingress +allowed +NetworkPolicy shop\/db/);
    const denied = policyTraceText(traced(factsOf(both), ['job', 'db']));
    expect(denied).toContain('nothing in NetworkPolicy shop/db, NetworkPolicy shop/none lets it');
    expect(denied.trimEnd()).toMatch(/denied at edge\/cnf-1, where it passes$/);
  });

  it('says when no CNF enforces anything about either end', () => {
    const view = traced(factsOf({ db: DB }), ['web', 'job']);
    expect([view.verdict, view.places]).toEqual(['allowed', []]);
    expect(policyTraceText(view)).toContain('passes no place of ours');
  });

  it('says that a packet between neighbours in a second network passes no CNF', () => {
    const inNet1 = factsOf({ db: { ...only('db'), ingress: [] } }, { place: 'net1' });
    const view = traced(inNet1, ['web', 'db']);
    policyTraceViewSchema.parse(JSON.parse(JSON.stringify(view)));
    expect([view.verdict, view.places, view.notPassed]).toEqual([
      'allowed',
      [],
      [{ namespace: 'edge', cnf: 'cnf-1', place: 'net1', subnet: '10.1.0.0/22' }],
    ]);
    const text = policyTraceText(view);
    expect(text).toContain('not through edge/cnf-1: both ends are in 10.1.0.0/22');
    expect(text).toContain('passes no place of ours: allowed, whatever the policies say');
    // From another subnet, and by the pods' own addresses, it passes.
    expect(traced(inNet1, ['job', 'db']).verdict).toBe('denied');
    const inCluster = factsOf({ db: { ...only('db'), ingress: [] } });
    expect(traced(inCluster, ['web', 'db']).verdict).toBe('denied');
  });

  it('is not known while a policy that is about it is not in sync', () => {
    const view = traced(factsOf({ db: DB }, { inSync: false }), ['job', 'db']);
    expect(view.verdict).toBe('unknown');
    expect(policyTraceText(view)).toContain('when all policies are in sync: denied at edge/cnf-1');
  });
});

it.each([
  [['--from', 'a'], '--from needs --to'],
  [['--to', 'a'], '--to needs --from'],
  [['cnf-1', '--from', 'a', '--to', 'b', '--dport', '1'], 'leave its name out'],
  [['--from', 'a', '--to', 'b'], '--dport must be a port'],
  [['--from', 'a', '--to', 'b', '--dport', '1', '--proto', 'gre'], '--proto must be tcp, udp or'],
  [['--from', 'a', '--to', 'b', '--dport', '1', '--src', '10.0.0.1'], 'cannot be used with'],
  [[], 'specify --src and --dst, or --from and --to'],
])('trace %j is wrong usage', async (args, words) => {
  const answer = await runCli(['trace', ...args]);
  expect([answer.code, answer.said.join('\n')]).toEqual([
    EXIT.usage,
    expect.stringContaining(words),
  ]);
});
