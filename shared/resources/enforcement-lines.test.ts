import { describe, expect, test } from 'vitest';
import type { Enforcement } from '../policy/enforcement.ts';
import { policyTable } from '../policy/nft-table.ts';
import { enforcementOf, writtenOf } from './enforcement-lines.ts';

const CASES: Record<string, Enforcement> = {
  'nothing isolated': { pods: 'p' },
  'nothing let through': { pods: 'p', ingress: [], egress: [] },
  'everything let through': { pods: 'p', egress: [{}] },
  'peers and ports': {
    pods: 'p',
    ingress: [
      {
        peers: [{ group: 'a' }, { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] }],
        ports: [
          { protocol: 'TCP', port: 80, endPort: 90 },
          { protocol: 'UDP', group: 'named' },
          { protocol: 'SCTP' },
        ],
      },
      { peers: [{ cidr: 'fd00::/8', except: ['fd00:1::/32'] }] },
    ],
  },
};

describe('what is written lets through what it was made of', () => {
  const acceptsOf = (enforcement: Enforcement): string[] =>
    policyTable([{ id: 'x', title: 'x', enforcement }], () => [])
      .chains.split('\n')
      .sort();

  test.each(Object.entries(CASES))('%s', (_, enforcement) => {
    expect(acceptsOf(enforcementOf(writtenOf(enforcement)))).toStrictEqual(acceptsOf(enforcement));
  });
});

test('makes each line stand for itself, with its exceptions', () => {
  const { lines, exceptions } = writtenOf(CASES['peers and ports'] ?? { pods: '' });
  expect(lines).toHaveLength(7);
  expect(exceptions.map(({ line }) => line)).toStrictEqual([3, 3, 4, 4, 5, 5, 6]);
});
