import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { FakeApiServer, fakeResource } from '#shared/kube/testing/fake-api-server.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createRuleSource, type RuleSource } from './rules.ts';

const KIND = fakeResource.kind;
const LEFT_OUT = { ...fakeResource, kind: 'LeftOut', plural: 'leftouts' };
const AT_ONCE = { baseBackoffMs: 5, maxBackoffMs: 10, notServedRetryMs: 5 };

let server: FakeApiServer;
let client: KubeClient;
let stopping: AbortController;
let ended: Promise<void>;
let source: RuleSource;
/** Called when anything has changed. */
let tell: () => void;

beforeEach(async () => {
  tell = () => undefined;
  server = await FakeApiServer.start();
  client = createKubeClient({ config: server.config });
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  await ended;
  await client.close();
  await server.stop();
});

const start = (): void => {
  source = createRuleSource({
    client,
    kinds: [fakeResource, LEFT_OUT],
    leftOut: [LEFT_OUT.kind, 'OfAnotherVersion'],
    namespace: 'default',
    purpose: 'cnf-1',
    onChange: () => tell(),
    clock: systemClock,
    log: silentLogger,
    timings: AT_ONCE,
  });
  ended = source.run(stopping.signal);
};
/** Waits until it is so; the source says when to look. */
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo())
    await new Promise<void>((resolve) => {
      tell = resolve;
    });
};
const whyUnwatched = (): string => source.unwatchedKinds().get(KIND) ?? '';
const isWatched = (): boolean => !source.unwatchedKinds().has(KIND);
const names = (): string[] => source.rules().map(({ metadata }) => metadata.name);
const refuseAll = (status: number, reason: string): void => {
  server.refuse('list', status, reason);
  server.refuse('watch', status, reason);
  server.endWatches();
};

describe('the rules of a kind', () => {
  it('are unknown until they were listed', async () => {
    server.put('a');
    start();
    expect(source.unknownKinds()).toEqual([KIND]);
    await until(isWatched);
    expect(source.unknownKinds()).toEqual([]);
    expect(names()).toEqual(['a']);
  });

  it.each([
    [403, 'Forbidden'],
    [500, 'InternalError'],
  ])('are not known while the list is answered with %i', async (status, reason) => {
    server.refuse('list', status, reason);
    start();
    await until(() => whyUnwatched().startsWith(status === 403 ? 'Forbidden' : 'Failing'));
    expect(source.unknownKinds()).toEqual([KIND]);
    expect(source.unservedKinds()).toEqual([LEFT_OUT.kind]);
  });

  it('are empty for one that was never served, and their sections stay', async () => {
    server.refuse('list', 404, 'NotFound');
    start();
    await until(() => source.unservedKinds().includes(KIND));
    expect(source.unknownKinds()).toEqual([]);
    server.put('a');
    server.allow();
    await until(isWatched);
    expect(source.unservedKinds()).not.toContain(KIND);
    expect(names()).toEqual(['a']);
  });

  it.each([
    [404, 'NotFound', 'NotServed'],
    [403, 'Forbidden', 'Forbidden'],
  ])('stay when the API server answers %i for them later', async (status, reason, phase) => {
    server.put('a');
    start();
    await until(isWatched);
    refuseAll(status, reason);
    await until(() => whyUnwatched().startsWith(phase));
    expect(names()).toEqual(['a']);
    expect(source.unknownKinds()).toEqual([]);
    expect(source.unservedKinds()).toEqual([LEFT_OUT.kind]);
  });
});

it('leaves a kind out that is not watched, reports it, and keeps its sections', async () => {
  start();
  await until(isWatched);
  expect(server.watchers).toBe(1);
  expect(source.unservedKinds()).toEqual([LEFT_OUT.kind]);
  expect([...source.unwatchedKinds()]).toEqual([
    [LEFT_OUT.kind, 'disabled by SDEWAN_WITHOUT_KINDS'],
  ]);
  expect(source.unknownKinds()).toEqual([]);
});
