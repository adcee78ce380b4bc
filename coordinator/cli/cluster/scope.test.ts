import { describe, expect, it } from 'vitest';
import { cnfNamed, namespaceOf } from './scope.ts';
import { cnf, factsOf, withStatus } from './testing.ts';
import { UsageError } from '../../views/usage-error.ts';

describe('the CNF that is meant', () => {
  const facts = factsOf({ cnfs: [cnf('cnf-1', 'edge'), cnf('cnf-1', 'lab'), cnf('hub', 'edge')] });

  it('is the one of that name, also when only a rule names it', () => {
    expect(cnfNamed(facts, 'hub', undefined)).toMatchObject({ namespace: 'edge' });
    const ruled = factsOf({ cnfs: [], rules: [withStatus(['FirewallZone', 'z'], undefined)] });
    expect(cnfNamed(ruled, 'cnf-1', 'default')).toMatchObject({ purpose: 'cnf-1' });
  });

  it.each<[string, string, string | undefined, string]>([
    ['in several namespaces', 'cnf-1', undefined, 'in namespaces edge, lab: specify one'],
    ['that is not there', 'hbu', undefined, 'there is: edge/hub, edge/cnf-1, lab/cnf-1'],
  ])('%s is not guessed', (_, name, namespace, words) => {
    expect(() => cnfNamed(facts, name, namespace)).toThrow(UsageError);
    expect(() => cnfNamed(facts, name, namespace)).toThrow(words);
  });

  it('in a namespace without any is looked for elsewhere by the user', () => {
    expect(() => cnfNamed(factsOf({ cnfs: [] }), 'x', 'default')).toThrow('--all-namespaces');
  });
});

it('takes one namespace, or all', () => {
  expect(namespaceOf({}, 'usual')).toBe('usual');
  expect(namespaceOf({ namespace: 'a' }, 'usual')).toBe('a');
  expect(namespaceOf({ allNamespaces: true }, 'usual')).toBeUndefined();
  expect(() => namespaceOf({ allNamespaces: true, namespace: 'a' }, 'u')).toThrow(UsageError);
});
