import { describe, expect, it } from 'vitest';
import { kinds } from '#shared/resources/registry.ts';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import type { Facts } from './checks/check.ts';
import { bucketChecks, ruleChecks } from './checks/list.ts';
import type { ReferenceMode } from './decide.ts';
import { addAgentsFinalizer, createRuleWebhook, type RuleWebhookDeps } from './rules.ts';
import { requestOf, rule, fixtureOf, zone } from './testing/changes.ts';
import type { FactSource } from './fact-source.ts';

const { signal } = new AbortController();
const reject = (spec: object = {}, metadata = {}) =>
  rule('FirewallRule', 'a', { src: 'lan1', dest_port: '80', target: 'REJECT', ...spec }, metadata);

const setUp = (some: {
  cached?: Partial<Facts> | 'not ready';
  live?: Partial<Facts>;
  mode?: ReferenceMode;
  checks?: RuleWebhookDeps['checks'];
  kinds?: RuleWebhookDeps['kinds'];
}) => {
  const live = fixtureOf(some.live ?? {});
  const cached = some.cached === 'not ready' ? undefined : fixtureOf(some.cached ?? {});
  const webhook = createRuleWebhook({
    kinds: some.kinds ?? kinds,
    checks: some.checks ?? ruleChecks,
    bucketTypes: ['basic'],
    referenceMode: some.mode ?? 'deny',
    cached: (): FactSource | undefined => cached,
    live,
  });
  return { webhook, live, cached };
};

const earlier = reject({}, { name: 'b', creationTimestamp: '2025-01-01T00:00:00Z' });

describe('the webhook for rules', () => {
  it('allows what is right without asking the API server', async () => {
    const { webhook, live } = setUp({ cached: { rules: [zone('lan1')] } });
    const verdict = await webhook(requestOf(undefined, reject()), signal);
    expect(verdict).toEqual({ allowed: true, warnings: [] });
    expect(live.asked).toEqual([]);
  });

  it('asks the API server before it denies, since the cache may lag', async () => {
    const { webhook, live } = setUp({ cached: {}, live: { rules: [zone('lan1')] } });
    expect((await webhook(requestOf(undefined, reject()), signal)).allowed).toBe(true);
    expect(live.asked).toContain('rules');
  });

  it.each<[string, Parameters<typeof setUp>[0], object]>([
    ['a caution', { cached: { rules: [zone('lan1')], filters: [earlier] } }, {}],
    ['a missing reference in mode warn', { cached: {}, mode: 'warn' }, {}],
    ['what a dry run finds', { cached: {} }, { dryRun: true }],
  ])('asks the API server for no mere warning: %s', async (_, some, how) => {
    const { webhook, live } = setUp(some);
    const verdict = await webhook(requestOf(undefined, reject(), how), signal);
    expect([verdict.allowed, verdict.warnings.length]).toEqual([true, 1]);
    expect(live.asked).toEqual([]);
  });

  it('looks for nothing that is a mere warning while the caches fill', async () => {
    const { webhook, live } = setUp({ cached: 'not ready', live: { rules: [zone('lan1')] } });
    await webhook(requestOf(undefined, reject()), signal);
    expect(live.asked).not.toContain('filters');
    expect(live.asked).not.toContain('links');
  });

  it('denies what the API server confirms, with a code that fits', async () => {
    const { webhook } = setUp({ cached: {} });
    expect(await webhook(requestOf(undefined, reject()), signal)).toMatchObject({
      allowed: false,
      code: 422,
      reason: 'Invalid',
      message: expect.stringContaining('FirewallZone lan1 does not exist'),
    });
  });

  it('does not ask the API server when the object itself shows the problem', async () => {
    const { webhook, live } = setUp({ cached: { rules: [zone('lan1')] } });
    const verdict = await webhook(
      requestOf(undefined, reject({ proto: 'carrier pigeon' })),
      signal,
    );
    expect(verdict).toMatchObject({
      allowed: false,
      message: expect.stringContaining('spec.proto'),
    });
    expect(live.asked).toEqual([]);
  });

  it('checks a resource that is no rule by itself, without any lookup', async () => {
    const {
      uci: _uci,
      icn: _icn,
      references: _references,
      ...input
    } = kinds.find(({ kind }) => kind === 'FirewallRule')!;
    const { webhook, live } = setUp({ cached: 'not ready', kinds: [input] });
    const verdict = await webhook(requestOf(undefined, reject()), signal);
    expect(verdict).toEqual({ allowed: true, warnings: [] });
    expect(live.asked).toEqual([]);
    const wrong = await webhook(requestOf(undefined, reject({ proto: 'carrier pigeon' })), signal);
    expect(wrong).toMatchObject({ allowed: false, message: expect.stringContaining('spec.proto') });
  });

  it('asks the API server straight away while the caches fill', async () => {
    const { webhook, live } = setUp({ cached: 'not ready', live: { rules: [zone('lan1')] } });
    expect((await webhook(requestOf(undefined, reject()), signal)).allowed).toBe(true);
    expect(live.asked).toContain('rules');
  });

  it.each<[string, ReferenceMode, string | undefined, boolean, number]>([
    ['denies a missing reference', 'deny', undefined, false, 0],
    ['warns in mode warn', 'warn', undefined, true, 1],
    ['says nothing in mode off', 'off', undefined, true, 0],
    ['heeds the mode that the CR asks for', 'deny', 'warn', true, 1],
    ['heeds a stricter mode, too', 'off', 'deny', false, 0],
    ['heeds no mode that does not exist', 'deny', 'maybe', false, 0],
  ])('%s', async (_, mode, own, isAllowed, warnings) => {
    const { webhook } = setUp({ mode });
    const annotations = own === undefined ? {} : { 'sdewan.akraino.org/references': own };
    const verdict = await webhook(requestOf(undefined, reject({}, { annotations })), signal);
    expect([verdict.allowed, verdict.warnings.length]).toEqual([isAllowed, warnings]);
  });

  it('asks the API server for all kinds that have names of connections, also on an update', async () => {
    const connection = { name: 'net', conn_type: 'tunnel', mode: 'add' };
    const spec = {
      remote: '203.0.113.1',
      authentication_method: 'psk',
      pre_shared_key: 'k',
      crypto_proposal: ['p'],
    };
    const host = rule('IpsecHost', 'b', { ...spec, connections: [connection] });
    const rules = [host, rule('IpsecProposal', 'p', {})];
    const { webhook, live } = setUp({ cached: { rules }, live: { rules } });
    const asked: string[] = [];
    live.rules = async ({ kinds: among }) => {
      asked.push(...among.map(({ kind }) => kind));
      return rules;
    };
    const site = (name: string) =>
      rule('IpsecSite', 'a', { ...spec, connections: [{ ...connection, name }] });
    const verdict = await webhook(requestOf(site('other'), site('net')), signal);
    expect(verdict).toMatchObject({
      allowed: false,
      message: expect.stringContaining('IpsecHost b'),
    });
    expect(asked).toEqual(expect.arrayContaining(['IpsecHost', 'IpsecSite']));
  });

  it('only warns on a dry run', async () => {
    const { webhook } = setUp({});
    const bad = requestOf(undefined, reject({ proto: 'carrier pigeon' }), { dryRun: true });
    const verdict = await webhook(bad, signal);
    expect(verdict.allowed).toBe(true);
    expect(verdict.warnings.join()).toContain('spec.proto');
  });

  it('looks for no hidden rules on a dry run, of which there can be many a second', async () => {
    const { webhook, cached } = setUp({ cached: { rules: [zone('lan1')], filters: [earlier] } });
    const verdict = await webhook(requestOf(undefined, reject(), { dryRun: true }), signal);
    expect(verdict).toEqual({ allowed: true, warnings: [] });
    expect(cached?.asked).not.toContain('filters');
  });

  it('allows a change of labels of a rule whose spec was already wrong', async () => {
    const bad = reject({ proto: 'carrier pigeon' });
    const { webhook } = setUp({});
    const labels = { ...bad.metadata.labels, team: 'edge' };
    const changed = reject({ proto: 'carrier pigeon' }, { labels });
    expect((await webhook(requestOf(bad, changed), signal)).allowed).toBe(true);
  });

  it('never looks at an object that is being deleted', async () => {
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    const { webhook, cached } = setUp({});
    const bad = reject({ proto: 'carrier pigeon' }, going);
    expect((await webhook(requestOf(bad, bad), signal)).allowed).toBe(true);
    expect((await webhook(requestOf(bad, undefined), signal)).allowed).toBe(true);
    expect(cached?.asked).toEqual([]);
  });

  it('knows the names of objects that are deleted as a collection', async () => {
    const { webhook } = setUp({ cached: { rules: [reject()] }, live: { rules: [reject()] } });
    const verdict = await webhook(requestOf(zone('lan1'), undefined, { name: '' }), signal);
    expect(verdict).toMatchObject({ allowed: false, message: expect.stringContaining('used by') });
  });

  it('allows resources that it does not know', async () => {
    const { webhook } = setUp({});
    const other = { group: 'batch.sdewan.akraino.org', version: 'v1alpha1', resource: 'others' };
    const verdict = await webhook(requestOf(undefined, reject(), { resource: other }), signal);
    expect(verdict).toEqual({ allowed: true, warnings: [] });
  });

  it('leaves the decision to the failurePolicy when the API server fails', async () => {
    const { webhook, live } = setUp({});
    live.rules = () => Promise.reject(new Error('no API server'));
    await expect(webhook(requestOf(undefined, reject()), signal)).rejects.toThrow('no API server');
  });

  it('checks the buckets of both the old and the new object', async () => {
    const { webhook } = setUp({ checks: bucketChecks, cached: {} });
    const labels = { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' };
    const removal = requestOf(zone('lan1', { labels }), zone('lan1'));
    expect(await webhook(removal, signal)).toMatchObject({ allowed: false, code: 403 });
  });
});

describe('the finalizer', () => {
  it('is added to the others on create', () => {
    const object = zone('lan1', { finalizers: ['example.org/other'] });
    expect(addAgentsFinalizer(requestOf(undefined, object), kinds)).toEqual({
      allowed: true,
      warnings: [],
      patch: [
        {
          op: 'add',
          path: '/metadata/finalizers',
          value: ['example.org/other', AGENTS_FINALIZER],
        },
      ],
    });
  });

  it('is not added to kinds that no agent applies', () => {
    const object = rule('CNFService', 'a', { fullname: 'example.com' });
    expect(addAgentsFinalizer(requestOf(undefined, object), kinds)).not.toHaveProperty('patch');
  });

  it('is added once, and on an update only to what had it', () => {
    const held = zone('lan1', { finalizers: [AGENTS_FINALIZER] });
    expect(addAgentsFinalizer(requestOf(undefined, held), kinds)).not.toHaveProperty('patch');
    expect(addAgentsFinalizer(requestOf(held, held), kinds)).not.toHaveProperty('patch');
    const without = zone('lan1');
    expect(addAgentsFinalizer(requestOf(without, without), kinds)).not.toHaveProperty('patch');
    expect(addAgentsFinalizer(requestOf(held, without), kinds)).toMatchObject({
      patch: [{ op: 'add', path: '/metadata/finalizers', value: [AGENTS_FINALIZER] }],
    });
  });

  it('is not added to a rule that is being deleted, which the API server would refuse', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const held = zone('lan1', { finalizers: [AGENTS_FINALIZER], deletionTimestamp });
    const released = zone('lan1', { deletionTimestamp });
    expect(addAgentsFinalizer(requestOf(held, released), kinds)).not.toHaveProperty('patch');
  });
});
