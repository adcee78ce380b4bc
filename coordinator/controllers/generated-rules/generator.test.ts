/**
 * What all generators have in common, with an API server that refuses by the names of rules, and
 * shows none of its writes.
 */
import { describe, expect, it, vi } from 'vitest';
import { DELETING, ruleOf } from '#shared/compile/testing.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnfNat as resource } from '#shared/resources/rules/cnf-nat.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { inFakeTime } from '../../testing/fake-time.ts';
import { createGenerator, type Asked, type GeneratorOptions } from './generator.ts';
import { DEPS } from './testing/served.ts';
import { generatedRule, type RuleChange } from './write.ts';

const HOUR_MS = 3_600_000;
const { run } = inFakeTime();

const rule = (name: string, metadata = {}): RuleObject => ruleOf('CNFNAT', name, {}, metadata);
const wantedOf = (name: string) =>
  generatedRule({ namespace: 'default', name, purpose: 'cnf-1', bucketType: undefined, spec: {} });
const created = (name: string): RuleChange => ({
  resource,
  wanted: wantedOf(name),
  present: undefined,
});
type Patched = {
  patch: { body: { metadata: Pick<RuleObject['metadata'], 'labels'>; spec: object } };
};
/** `there`: rules with the name of one that is created. `known`: by uid, as the watch has them. */
const start = ({
  changes = [],
  refused = {},
  there = [],
  known = new Map(),
  ...options
}: Partial<GeneratorOptions<Asked>> & {
  changes?: RuleChange[];
  refused?: Record<string, number>;
  there?: RuleObject[];
  known?: Map<string, RuleObject>;
}) => {
  const calls: string[] = [];
  const told: string[] = [];
  const specs: unknown[] = [];
  const call = (verb: string, name: string) => {
    calls.push(`${verb} ${name}`);
    const status =
      there.some(({ metadata }) => metadata.name === name) && verb === 'create'
        ? 409
        : refused[name];
    if (status !== undefined) throw new KubeError('write', `is ${status}`, { status, reason: '' });
    return rule(name);
  };
  const client = {
    create: async (_: unknown, { metadata }: RuleObject) => call('create', metadata.name),
    patch: async (_: unknown, { name }: { name: string }, { patch: { body } }: Patched) => {
      const before = call('patch', name);
      specs.push(body.spec);
      const labels = { ...before.metadata.labels, ...body.metadata.labels };
      return { ...before, metadata: { ...before.metadata, labels }, spec: body.spec };
    },
    delete: async (_: unknown, { name }: { name: string }) => call('delete', name),
    get: async (_: unknown, { name }: { name: string }) =>
      there.find(({ metadata }) => metadata.name === name),
  } as never as KubeClient;
  const generator = createGenerator<Asked>(
    {
      ...DEPS,
      client,
      rules: {
        get: (uid) => known.get(uid) && ({ object: known.get(uid) } as never),
        learn: () => undefined,
        uids: () => known.keys(),
        unknown: new Map(),
      },
    },
    {
      name: 'test',
      sources: [],
      sourcesOf: () => [],
      keys: () => ['source'],
      groupOf: () => '',
      isKnown: () => true,
      ask: () => ({ changes }),
      tell: (_key, _asked, { refusals }) => {
        told.push(...refusals.map(({ error }) => messageOf(error)));
        return refusals.length === 0 ? 'done' : { failed: 'NameTaken' };
      },
      ...options,
    },
  );
  run(generator);
  return { generator, calls, told, specs };
};

describe('a generator of rules', () => {
  it('removes first, then changes, and creates last', async () => {
    const { calls } = start({
      changes: [
        created('a'),
        { ...created('b'), present: rule('b') },
        { resource, wanted: undefined, present: rule('c') },
      ],
    });
    await vi.advanceTimersByTimeAsync(200);
    expect(calls).toEqual(['delete c', 'patch b', 'create a']);
  });

  it('tells of what is refused, which holds up nothing else', async () => {
    const { calls, told } = start({
      changes: ['a', 'b', 'c'].map(created),
      refused: { a: 403, b: 422 },
    });
    await vi.advanceTimersByTimeAsync(200);
    // It may have been tried again already.
    expect(calls.slice(0, 3)).toEqual(['create a', 'create b', 'create c']);
    expect(told.slice(0, 2)).toEqual(['write: is 403', 'write: is 422']);
  });

  it.each<[string, number, GeneratorOptions<Asked>['whose'], string[]]>([
    ['is its own, and was not seen yet', 0, () => 'ours', []],
    ['is to be adopted', 0, () => 'to be adopted', ['patch a']],
    ['is about to go', 1, () => 'others', []],
  ])('tells of no name that %s', async (_what, isGoing, whose, then) => {
    const there = [rule('a', isGoing === 1 ? DELETING : {})];
    const { calls, told } = start({ changes: [created('a')], there, ...(whose && { whose }) });
    await vi.advanceTimersByTimeAsync(120);
    expect(calls).toEqual(['create a', ...then]);
    expect(told).toEqual([]);
  });

  it('takes a rule over as it is, and changes what it asks for then', async () => {
    const was = { target: 'SNAT' };
    const there = [{ ...rule('a'), spec: was }];
    const { calls, specs } = start({
      changes: [created('a')],
      there,
      whose: () => 'to be adopted',
    });
    await vi.advanceTimersByTimeAsync(120);
    expect(calls).toEqual(['create a', 'patch a', 'patch a']);
    expect(specs).toEqual([was, { target: null }]);
  });

  it('checks at growing intervals whether a name that others have is free', async () => {
    const { calls, told } = start({
      changes: [created('a')],
      there: [rule('a')],
      whose: () => 'others',
    });
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    const before = calls.length;
    expect(before).toBeGreaterThan(10);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    // Between 3 and 30 seconds lie between two.
    expect(calls.length - before).toBeGreaterThanOrEqual(120);
    expect(calls.length - before).toBeLessThanOrEqual(1_200);
    expect(new Set(told)).toEqual(new Set(['CNFNAT default/a exists already']));
  });

  it('looks at the sources whose rule it is, and was', async () => {
    const known = new Map([['u-1', rule('a')]]);
    const asked: string[] = [];
    let owner = 'one';
    const { generator } = start({
      known,
      keys: () => [],
      sourcesOf: () => [owner],
      ask: (key, present) => {
        asked.push(`${key}: ${present.map(({ metadata }) => metadata.name).join()}`);
        return undefined;
      },
    });
    const look = async () => {
      generator.onRule('u-1');
      await vi.advanceTimersByTimeAsync(200);
      return asked.splice(0);
    };
    await vi.advanceTimersByTimeAsync(0);
    expect(await look()).toEqual(['one: a']);
    owner = 'other';
    expect(await look()).toEqual(['one: ', 'other: a']);
    known.clear();
    expect(await look()).toEqual(['other: ']);
  });
});
