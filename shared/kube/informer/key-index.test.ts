import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Index } from './key-index.ts';
import { Store } from './store.ts';

const change = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  keys: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
});

it('finds under each key of an index those that have it now', () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const index = new Index();
      const now = new Map<string, readonly string[]>();
      for (const { id, keys } of changes) {
        index.set(id, keys);
        now.set(id, keys);
      }
      for (const key of ['x', 'y', 'z']) {
        const having = [...now].filter(([, keys]) => keys.includes(key)).map(([id]) => id);
        expect([...index.ids(key)].sort()).toEqual(having.sort());
      }
      for (const [id, keys] of now) expect(index.keysOf(id)).toEqual(keys);
    }),
  );
});

it('finds by the indices of a store what it has now', () => {
  const store = new Store({ color: ({ metadata }) => Object.values(metadata.labels ?? {}) });
  const put = (name: string, resourceVersion: string, color: string): void => {
    const metadata = { name, namespace: 'n', uid: `uid-${name}`, creationTimestamp: '' };
    store.put({
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: { ...metadata, resourceVersion, labels: { color } },
    });
  };
  const named = (color: string): string[] =>
    store.by('color', color).map(({ metadata }) => metadata.name);
  put('a', '1', 'red');
  put('b', '2', 'red');
  expect(named('red')).toEqual(['a', 'b']);
  put('a', '3', 'blue');
  expect([named('red'), named('blue')]).toEqual([['b'], ['a']]);
  store.remove('uid-b');
  store.replace([]);
  expect([named('red'), named('blue')]).toEqual([[], []]);
  expect(() => store.by('size', 'L')).toThrow('no index size');
});
