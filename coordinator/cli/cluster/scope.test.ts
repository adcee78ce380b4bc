import { describe, expect, it } from 'vitest';
import { KubeError } from '#shared/kube/errors.ts';
import { cnfNamed, namespaceIsThere, namespaceOf } from './scope.ts';
import { cnf, factsOf, withStatus } from './testing.ts';
import { NotThereError, UsageError } from '../../views/usage-error.ts';

describe('the CNF that is meant', () => {
  const facts = factsOf({ cnfs: [cnf('cnf-1', 'edge'), cnf('cnf-1', 'lab'), cnf('hub', 'edge')] });

  it('is the one of that name, also when only a rule names it', () => {
    expect(cnfNamed(facts, 'hub', undefined)).toMatchObject({ namespace: 'edge' });
    const ruled = factsOf({ cnfs: [], rules: [withStatus(['FirewallZone', 'z'], undefined)] });
    expect(cnfNamed(ruled, 'cnf-1', 'default')).toMatchObject({ purpose: 'cnf-1' });
  });

  it('is not guessed where several have the name', () => {
    const ask = () => cnfNamed(facts, 'cnf-1', undefined);
    expect(ask).toThrow(UsageError);
    expect(ask).toThrow('in namespaces edge, lab: specify one');
  });

  it('is not guessed where none has the name', () => {
    const ask = () => cnfNamed(facts, 'hbu', undefined);
    expect(ask).toThrow(NotThereError);
    expect(ask).toThrow('there is: edge/hub, edge/cnf-1, lab/cnf-1');
  });

  it('is left to the user when its namespace has none', () => {
    expect(() => cnfNamed(factsOf({ cnfs: [] }), 'x', 'default')).toThrow('--all-namespaces');
  });
});

it('takes one namespace, or all', () => {
  expect(namespaceOf({}, 'usual')).toBe('usual');
  expect(namespaceOf({ namespace: 'a' }, 'usual')).toBe('a');
  expect(namespaceOf({ allNamespaces: true }, 'usual')).toBeUndefined();
  expect(() => namespaceOf({ allNamespaces: true, namespace: 'a' }, 'u')).toThrow(UsageError);
});

describe('the namespace', () => {
  const asked = (status: number) => {
    const client = {
      get: () => Promise.reject(new KubeError('get', 'refused', { status, reason: '' })),
    };
    return namespaceIsThere(client, 'nowhere', new AbortController().signal);
  };

  it('is said not to be there where the API server does', async () => {
    await expect(asked(404)).rejects.toThrow('there is no namespace nowhere');
  });

  it('is taken to be there by a user without the right to see it', async () => {
    await expect(asked(403)).resolves.toBeUndefined();
  });
});
