import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from './objects.ts';
import { Selections, type LabelSelection } from './selections.ts';
import { selects } from './selector.ts';
import { Store } from './store.ts';
import { labels as anyLabels, selector } from './testing/selectors.ts';

let version = 0;
const pod = (name: string, labels: Record<string, string>, namespace = 'edge'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace,
    name,
    uid: `uid-${namespace}-${name}`,
    resourceVersion: String((version += 1)),
    creationTimestamp: '',
    labels,
  },
});

/** A store whose events come to selections, as a reflector's do. */
const world = () => {
  const store = new Store<KubeObject>();
  const selections = new Selections(store);
  const told: string[][] = [];
  const tell = (events: ReturnType<typeof store.put>): void => {
    for (const event of events) told.push(selections.onEvent(event).sort());
  };
  return {
    selections,
    told,
    store,
    put: (object: KubeObject) => tell(store.put(object)),
    remove: (object: KubeObject) => tell(store.remove(object.metadata.uid)),
    names: (id: string) =>
      selections
        .members(id)
        .map(({ metadata }) => metadata.name)
        .sort(),
  };
};
const web: LabelSelection = { namespace: 'edge', selector: { matchLabels: { app: 'web' } } };

describe('a selection', () => {
  it('has those that were there before it, and follows what comes, changes and goes', () => {
    const { put, remove, names, selections } = world();
    put(pod('a', { app: 'web' }));
    put(pod('elsewhere', { app: 'web' }, 'other'));
    selections.follow('w', web);
    expect(names('w')).toEqual(['a']);
    put(pod('b', { app: 'web' }));
    put(pod('a', { app: 'db' }));
    expect(names('w')).toEqual(['b']);
    remove(pod('b', {}));
    expect(names('w')).toEqual([]);
  });

  it('is returned when a member is added, changed or removed, and only then', () => {
    const { put, remove, told, selections } = world();
    selections.follow('w', web);
    selections.follow('all', { namespace: undefined, selector: {} });
    const a = pod('a', { app: 'db' });
    put(a);
    put(pod('a', { app: 'web' }));
    put(pod('a', { app: 'web', more: 'x' }));
    put(pod('a', { app: 'db' }));
    remove(a);
    expect(told).toEqual([['all'], ['all', 'w'], ['all', 'w'], ['all', 'w'], ['all']]);
  });

  it('that was removed has no members, and a new one of the same name starts empty', () => {
    const { put, names, told, selections } = world();
    put(pod('a', { app: 'web' }));
    put(pod('b', { app: 'db' }));
    selections.follow('w', web);
    selections.follow('w', { ...web, selector: { matchLabels: { app: 'db' } } });
    expect(names('w')).toEqual(['b']);
    selections.unfollow('w');
    put(pod('b', { app: 'db', more: 'x' }));
    expect([names('w'), told.at(-1)]).toEqual([[], []]);
  });
});

it('checks only selections that ask for a label of the object, however many there are', () => {
  const { put, selections } = world();
  let looks = 0;
  for (let i = 0; i < 1_000; i += 1) {
    const matchLabels = { app: `app-${i}` };
    const counted: LabelSelection = {
      namespace: 'edge',
      get selector() {
        looks += 1;
        return { matchLabels };
      },
    };
    selections.follow(`s${i}`, counted);
  }
  looks = 0;
  put(pod('a', { app: 'app-7', tier: 'front' }));
  expect(looks).toBe(1);
});

const step = fc.oneof(
  fc.record({ does: fc.constant('put'), name: fc.constantFrom('p', 'q', 'r'), labels: anyLabels }),
  fc.record({ does: fc.constant('remove'), name: fc.constantFrom('p', 'q', 'r') }),
  fc.record({ does: fc.constant('follow'), id: fc.constantFrom('s', 't'), selector }),
  fc.record({ does: fc.constant('unfollow'), id: fc.constantFrom('s', 't') }),
);

it('members are always those that a search would find', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { put, remove, names, selections, store } = world();
      const followed = new Map<string, LabelSelection>();
      for (const one of steps) {
        if ('labels' in one) put(pod(one.name, one.labels));
        else if ('name' in one) remove(pod(one.name, {}));
        else if ('selector' in one) {
          followed.set(one.id, { namespace: 'edge', selector: one.selector });
          selections.follow(one.id, { namespace: 'edge', selector: one.selector });
        } else {
          followed.delete(one.id);
          selections.unfollow(one.id);
        }
        for (const id of ['s', 't']) {
          const asked = followed.get(id);
          const found = store
            .list()
            .filter(({ metadata }) => asked && selects(asked.selector, metadata.labels))
            .map(({ metadata }) => metadata.name);
          expect(names(id)).toEqual(found.sort());
        }
      }
    }),
  );
});
