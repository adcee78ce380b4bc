import { describe, expect, it } from 'vitest';

import type { ClusterRecord } from '../record.ts';
import { pickCluster } from './pick.ts';

const record = (id: string, ownerDirectory: string): ClusterRecord => ({
  id,
  directory: `/tmp/kth-0/${id}`,
  backend: 'process',
  kubeconfig: `/tmp/kth-0/${id}/kubeconfig`,
  server: '',
  kubectlCommand: [],
  ownerPid: 1,
  ownerDirectory,
  reason: '',
  startedAt: '',
});
const a = record('a', '/clone1');
const b = record('b', '/clone1');
const c = record('c', '/clone2');
const wish = { env: {}, directory: '/clone1', isForSure: false };

describe('pickCluster', () => {
  it('takes the one that is named, wherever it was started', () => {
    expect(pickCluster([a, b, c], { ...wish, id: 'c' })).toBe(c);
  });
  it('takes the one that the environment names', () => {
    const env = { KIND_TEST_HARNESS_CLUSTER: '/tmp/kth-0/c' };
    expect(pickCluster([a, b, c], { ...wish, env })).toBe(c);
  });
  it('takes the one whose kubeconfig the environment names', () => {
    expect(pickCluster([a, b, c], { ...wish, env: { KUBECONFIG: c.kubeconfig } })).toBe(c);
  });
  it('takes the one started last in this folder', () => {
    expect(pickCluster([a, b, c], wish)).toBe(b);
  });
  it('ends the only one of this folder', () => {
    expect(pickCluster([a, c], { ...wish, isForSure: true })).toBe(a);
  });
  it('takes the only one, wherever it was started', () => {
    expect(pickCluster([c], wish)).toBe(c);
  });
  it.each([
    ['none runs', [], wish, 'no cluster runs'],
    ['the named one does not run', [a], { ...wish, id: 'x' }, 'no cluster x runs'],
    ['several would be ended', [a, b], { ...wish, isForSure: true }, 'which cluster?'],
    [
      'the only one is of another folder and would be ended',
      [c],
      { ...wish, isForSure: true },
      'which cluster?',
    ],
    [
      'the kubeconfig in the environment is of one that has ended',
      [a],
      { ...wish, env: { KUBECONFIG: c.kubeconfig } },
      'is not there: its cluster has ended\n  a  started in /clone1',
    ],
    ['several run, none of this folder', [a, b], { ...wish, directory: '/' }, 'which cluster?'],
  ])('refuses when %s', (_, records, wanted, message) => {
    expect(() => pickCluster(records, wanted)).toThrow(message);
  });
});
