import { expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { inOrder } from './order.ts';

const names = (groups: ReturnType<typeof inOrder>): string[][] =>
  groups.map((group) => group.map(({ metadata }) => metadata.name));

it('puts rules behind those that they refer to, whatever order they are given in', () => {
  const zone = ruleOf('FirewallZone', 'lan', { network: ['n'] });
  const rule = ruleOf('FirewallRule', 'web', { src: 'lan', target: 'ACCEPT' });
  const other = ruleOf('FirewallRule', 'other', { src: 'elsewhere', target: 'ACCEPT' });
  expect(names(inOrder([rule, other, zone]))).toEqual([['other', 'lan'], ['web']]);
  expect(names(inOrder([zone, other, rule]))).toEqual([['lan', 'other'], ['web']]);
});

it('does not take a rule of another namespace or CNF for the one that is meant', () => {
  const zone = ruleOf('FirewallZone', 'lan', { network: ['n'] }, { namespace: 'elsewhere' });
  const rule = ruleOf('FirewallRule', 'web', { src: 'lan', target: 'ACCEPT' });
  expect(names(inOrder([rule, zone]))).toEqual([['web', 'lan']]);
});
