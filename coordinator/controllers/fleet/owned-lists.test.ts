import { describe, expect, it } from 'vitest';
import { fleetPods } from './apps.ts';
import { MAX_KEPT_LENGTH, oursOf, sifting } from './owned-lists.ts';

const podOf = (name: string, length: number, owner: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'edge',
    uid: `uid-${name}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { owner },
    annotations: { a: 'x'.repeat(length) },
  },
  spec: {},
});
const listed = (objects: readonly object[]) => {
  const resource = sifting(fleetPods, ({ metadata }) => metadata.labels?.['owner'] === 'us');
  return objects.map((object) => resource.schema.parse(object));
};

describe('a list in which others have put as much as they like', () => {
  it('keeps whole what is ours', () => {
    const items = listed([podOf('a', 1_000, 'us'), podOf('b', 1_000, 'them')]);
    expect(oursOf(items).map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(oursOf(items)[0]?.metadata.annotations).toEqual({ a: 'x'.repeat(1_000) });
  });

  it('keeps nothing of what is not but its identity', () => {
    const items = listed(Array.from({ length: 50 }, (_, at) => podOf(`p${at}`, 200_000, 'them')));
    expect(JSON.stringify(items).length).toBeLessThan(20_000);
  });

  it('keeps no more than there is room for of what claims to be ours', () => {
    const items = listed(Array.from({ length: 100 }, (_, at) => podOf(`p${at}`, 200_000, 'us')));
    expect(oursOf(items).map(({ metadata }) => metadata.name)).toContain('p0');
    expect(JSON.stringify(items).length).toBeLessThan(MAX_KEPT_LENGTH + 50_000);
  });

  it('begins anew with each list', () => {
    const many = Array.from({ length: 15 }, (_, at) => podOf(`p${at}`, 200_000, 'us'));
    expect(oursOf(listed(many))).toHaveLength(15);
    expect(oursOf(listed(many))).toHaveLength(15);
  });
});
