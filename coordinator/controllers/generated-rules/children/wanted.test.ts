import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnfLocalService } from '#shared/resources/rules/cnf-local-service.ts';
import type { Entry } from './address-book.ts';
import { wantedChildren } from './wanted.ts';

/** The host that a field names. */
const found = (name: string, addresses: string[] | undefined, more: Partial<Entry> = {}) => ({
  path: `spec.${name}service`,
  name,
  addresses,
  unknown: undefined,
  problem: undefined,
  againInMs: 5_000,
  ...more,
});
const spec = { localservice: 'local', localport: '1', remoteservice: 'remote', remoteport: '2' };
const parent = ruleOf('CNFLocalService', 'mail', spec, {
  labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': 'basic' },
  annotations: { 'sdewan.akraino.org/order': '3', other: 'x' },
});
const six = ruleOf('CNFNAT', 'mailnat1', { src_dip: '2001:db8::9', dest_ip: '2001:db8::1' });

const wantedOf = (hosts: ReturnType<typeof found>[], present: RuleObject[] = []) => {
  if (!cnfLocalService.generates) throw new Error('it generates nothing');
  const { generates } = cnfLocalService;
  return wantedChildren({ parent, generates, spec, hosts, present });
};

describe('the rules that a CR asks for', () => {
  it('have its purpose, bucket type and order, and the CR as their owner', () => {
    const { changes, ...rest } = wantedOf([
      found('local', ['10.0.0.9']),
      found('remote', ['192.0.2.1'], { againInMs: 3_000 }),
    ]);
    expect(rest).toMatchObject({ problem: undefined, total: 1, againInMs: 3_000 });
    expect(changes).toMatchObject([{ resource: { kind: 'CNFNAT' }, present: undefined }]);
    expect(changes[0]?.wanted?.metadata).toMatchObject({
      name: 'mailnat0',
      labels: {
        sdewanPurpose: 'cnf-1',
        'sdewan-bucket-type': 'basic',
        'app.kubernetes.io/managed-by': 'sdewan-coordinator',
      },
      annotations: { 'sdewan.akraino.org/order': '3' },
      ownerReferences: [{ kind: 'CNFLocalService', uid: parent.metadata.uid, controller: true }],
      finalizers: ['sdewan.akraino.org/agents'],
    });
  });

  const answered = found('local', ['10.0.0.9', '2001:db8::1']);
  it.each<[string, ReturnType<typeof found>, string | undefined, string[], number]>([
    [
      'stay when a name was never resolved',
      found('remote', undefined, { problem: 'remote cannot be resolved: ESERVFAIL' }),
      'spec.remoteservice: remote cannot be resolved: ESERVFAIL',
      [],
      1,
    ],
    [
      'are those of the last addresses while the DNS does not answer',
      found('remote', ['192.0.2.1'], { problem: 'remote cannot be resolved: ESERVFAIL' }),
      'spec.remoteservice: remote cannot be resolved: ESERVFAIL; its last addresses stay in force',
      ['~ mailnat1'],
      1,
    ],
    [
      'stay of a family for which there was never an answer',
      found('remote', ['192.0.2.1'], { unknown: 6 }),
      'spec.remoteservice: the DNS does not answer for IPv6 addresses of remote; the rules of its last addresses stay in force',
      ['+ mailnat0'],
      2,
    ],
    [
      'do not wait for a family of which they have none',
      found('remote', ['2001:db8::9'], { unknown: 4 }),
      undefined,
      ['~ mailnat1'],
      1,
    ],
    [
      'stay when none can be made',
      found('remote', []),
      'spec.localservice: local and remote have no address family in common',
      [],
      1,
    ],
  ])('%s', (_what, remote, problem, expected, total) => {
    const { changes, ...rest } = wantedOf([answered, remote], [six]);
    expect(rest.problem?.message).toBe(problem);
    expect(rest.total).toBe(total);
    expect(
      changes.map(({ wanted, present }) => {
        const what = wanted && present ? '~' : '+';
        return `${wanted ? what : '-'} ${(wanted ?? present)?.metadata.name}`;
      }),
    ).toEqual(expected);
  });
});
