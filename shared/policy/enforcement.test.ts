import { describe, expect, test } from 'vitest';
import { MAX_RULES, tooLargeText } from './bounds.ts';
import { compilePolicy } from './enforcement.ts';
import { networkPolicySpecSchema } from './network-policy.ts';

const compiled = (spec: object) =>
  compilePolicy({
    namespace: 'ns',
    spec: networkPolicySpecSchema.parse({ podSelector: {}, ...spec }),
  });

const directions = (spec: object): string[] => {
  const result = compiled(spec);
  return 'enforcement' in result ? Object.keys(result.enforcement).sort() : [];
};

describe('which directions a policy isolates', () => {
  test.each([
    ['nothing said', {}, ['ingress', 'pods']],
    ['no types', { policyTypes: [] }, ['ingress', 'pods']],
    [
      'no types and an egress rule',
      { policyTypes: [], egress: [{}] },
      ['egress', 'ingress', 'pods'],
    ],
    ['null fields', { podSelector: null, policyTypes: null, egress: null }, ['ingress', 'pods']],
    ['no egress rules', { egress: [] }, ['ingress', 'pods']],
    ['an egress rule', { egress: [{}] }, ['egress', 'ingress', 'pods']],
    ['ingress alone', { policyTypes: ['Ingress'], egress: [{}] }, ['ingress', 'pods']],
    ['egress alone', { policyTypes: ['Egress'], ingress: [{}] }, ['egress', 'pods']],
  ])('%s', (_, spec, wanted) => {
    expect(directions(spec)).toStrictEqual(wanted);
  });
});

test('equal selectors are one group', () => {
  const peer = { podSelector: { matchLabels: { a: '1' } } };
  const result = compiled({ ingress: [{ from: [peer, peer] }, { from: [peer] }] });
  expect('groups' in result && result.groups.size).toBe(2);
});

describe('what cannot be carried', () => {
  const rules = (count: number) => ({
    ingress: [{ ports: Array.from({ length: count }, (_, at) => ({ port: at + 1 })) }],
  });

  test(`${MAX_RULES} rules are`, () => {
    expect(compiled(rules(MAX_RULES))).toHaveProperty('enforcement');
  });

  test('includes one more, and both numbers are said', () => {
    const result = compiled(rules(MAX_RULES + 1));
    expect('tooLarge' in result && tooLargeText(result.tooLarge)).toBe(
      'the policy comes to 1001 rules and blocks at this place, and 1000 are carried',
    );
  });

  test('peers and exceptions count with each port', () => {
    const except = Array.from({ length: 100 }, (_, at) => `10.0.${at}.0/24`);
    const from = Array.from({ length: 10 }, () => ({ ipBlock: { cidr: '10.0.0.0/8', except } }));
    const result = compiled({ ingress: [{ from, ports: [{ port: 1 }, { port: 2 }] }] });
    expect('tooLarge' in result && result.tooLarge).toMatchObject({ has: 2_020, limit: 1_000 });
  });

  test('names a block that is none with its place', () => {
    const from = [
      { podSelector: {} },
      { ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/33'] } },
    ];
    expect(compiled({ ingress: [{ from }] })).toStrictEqual({
      invalid: {
        path: 'spec.ingress[0].from[1].ipBlock.except[0]',
        message: '10.0.0.0/33 is no block',
      },
    });
  });
});
