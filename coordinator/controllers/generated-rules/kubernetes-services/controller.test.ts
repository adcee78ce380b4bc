/**
 * Services of several tenants at once, on an API server that takes a tenth of a second for each
 * write and shows it then.
 */
import { describe, expect, it, vi } from 'vitest';
import type { CallOptions, KubeClient } from '#shared/kube/client.ts';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import type { ObjectKey } from '#shared/kube/path.ts';
import { PURPOSE_LABEL, SERVICE_NAME_LABEL } from '#shared/names.ts';
import { inFakeTime } from '../../../testing/fake-time.ts';
import { DEPS, served, sleep } from '../testing/served.ts';
import { MAX_PORTS } from './service.ts';
import { createServices } from './controller.ts';

const WRITE_MS = 100;
const { run } = inFakeTime();

type Changes = { from?: number; count?: number; createdAt?: string };

const serviceOf = (
  namespace: string,
  name: string,
  { from = 1_000, count = 1, createdAt = '2026-01-01T00:00:00Z' }: Changes = {},
): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace,
      name,
      uid: `${namespace}-${name}`,
      resourceVersion: '1',
      creationTimestamp: createdAt,
      annotations: { 'sdewan.akraino.org/expose': 'edge/cnf-1' },
    },
    spec: {
      clusterIPs: ['10.96.0.1', 'fd00::1'],
      ports: Array.from({ length: count }, (_, at) => ({ port: from + at, protocol: 'TCP' })),
    },
  }) as KubeObject;

/** More than 3,500 rules: 45 s of writes. */
const manyOf = (namespace: string): KubeObject[] =>
  Array.from({ length: 7 }, (_, at) =>
    serviceOf(namespace, `many-${at}`, { from: 10_000 + at * MAX_PORTS, count: MAX_PORTS }),
  );

const start = async (there: KubeObject[]) => {
  const written = new Map<string, RuleObject>();
  let purposes: string[] = [];
  const { push, reads } = served(there);
  const show = (uid: string, rule: RuleObject | undefined): void => {
    if (rule) written.set(uid, rule);
    else written.delete(uid);
    services.onRule(uid);
  };
  const client = {
    ...reads,
    create: async (_: unknown, rule: RuleObject, call: CallOptions) => {
      await sleep(WRITE_MS, call.signal);
      const { namespace, name } = rule.metadata;
      const uid = `${namespace}/${name}`;
      const made = { ...rule, metadata: { ...rule.metadata, uid, resourceVersion: '1' } };
      show(uid, made);
      return made;
    },
    delete: async (_: unknown, { namespace, name }: ObjectKey, call: CallOptions) => {
      await sleep(WRITE_MS, call.signal);
      show(`${namespace}/${name}`, undefined);
    },
  } as unknown as KubeClient;
  const services = createServices({
    ...DEPS,
    client,
    rules: {
      get: (uid) => written.get(uid) && ({ object: written.get(uid) } as never),
      learn: () => undefined,
      uids: () => written.keys(),
      unknown: new Map(),
    },
    options: { allTo: undefined, zone: 'wan', exceptNamespaces: [], reservedPorts: [] },
    cnfs: {
      acceptedBy: (_namespace, purpose) =>
        purposes.includes(purpose) ? undefined : new Set(['mallory', 'victim']),
    },
    isComplete: () => true,
  });
  run(services);
  await vi.advanceTimersByTimeAsync(2_000);
  return {
    push,
    /** No pod of these CNFs is known any more. */
    withoutPods: (...gone: string[]) => {
      purposes = gone;
      services.onCnfs();
    },
    written,
    show,
    rulesOf: (name: string): string[] =>
      [...written.values()]
        .filter(({ metadata }) => metadata.labels?.[SERVICE_NAME_LABEL] === name)
        .map(({ metadata }) => metadata.name),
  };
};

describe('Services of one tenant with thousands of rules', () => {
  it('do not hold up a new Service of another', async () => {
    const { push, rulesOf } = await start(manyOf('mallory'));
    push('ADDED', serviceOf('victim', 'web'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toHaveLength(2);
    expect(rulesOf('many-6')).toEqual([]);
  });

  it('do not keep the port of a deleted Service open', async () => {
    const web = serviceOf('victim', 'web');
    const { push, rulesOf } = await start([web]);
    for (const one of manyOf('mallory')) push('ADDED', one);
    await vi.advanceTimersByTimeAsync(2_000);
    push('DELETED', web);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toEqual([]);
    expect(rulesOf('many-6')).toEqual([]);
  });

  it('do not keep it open when they go themselves', async () => {
    const all = [...manyOf('mallory'), serviceOf('victim', 'web')];
    const { push, rulesOf } = await start(all);
    await vi.advanceTimersByTimeAsync(60_000);
    for (const one of all) push('DELETED', one);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toEqual([]);
    expect(rulesOf('many-6')).not.toEqual([]);
  });

  it('are not written any more after they are deleted again', async () => {
    const all = manyOf('mallory');
    const { push, rulesOf, written } = await start(all);
    for (const one of all) push('DELETED', one);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(written.size).toBe(0);
    expect(rulesOf('many-0')).toEqual([]);
  });
});

describe('the rules of Services', () => {
  it('give a port to the next Service when the older one has gone', async () => {
    const first = serviceOf('mallory', 'first', { createdAt: '2025-01-01T00:00:00Z' });
    const { push, rulesOf } = await start([first, serviceOf('victim', 'second')]);
    expect([rulesOf('first').length, rulesOf('second').length]).toEqual([2, 0]);
    push('DELETED', first);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([rulesOf('first').length, rulesOf('second').length]).toEqual([0, 2]);
  });

  it('stay while no pod of the CNF is known, and go when the Service goes', async () => {
    const web = serviceOf('victim', 'web');
    const { push, rulesOf, withoutPods } = await start([web]);
    withoutPods('cnf-1');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toHaveLength(2);
    push('DELETED', web);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toEqual([]);
  });

  it('come back when another program deletes them, and go to the new CNF when they were of another', async () => {
    const { rulesOf, show, written } = await start([serviceOf('victim', 'web')]);
    const [[uid, rule] = [], [other, another] = []] = [...written];
    if (!rule || !another || uid === undefined || other === undefined) throw new Error('no rules');
    show(uid, undefined);
    const labels = { ...another.metadata.labels, [PURPOSE_LABEL]: 'cnf-2' };
    show(other, { ...another, metadata: { ...another.metadata, labels } });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(rulesOf('web')).toHaveLength(2);
    expect([...written.values()].map(({ metadata }) => metadata.labels?.[PURPOSE_LABEL])).toEqual([
      'cnf-1',
      'cnf-1',
    ]);
  });
});
