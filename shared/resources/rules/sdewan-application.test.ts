import { describe, expect, it } from 'vitest';
import { checkSpec } from '../../compile/check.ts';
import { compile } from '../../compile/compile.ts';
import { revisionOf } from '../../compile/revision.ts';
import { inputOf, ruleOf } from '../../compile/testing.ts';
import { POD_ADDRESSES_ANNOTATION } from '../../names.ts';
import { MAX_POD_ADDRESSES, sdewanApplication } from './sdewan-application.ts';

const podSelector = { matchLabels: { app: 'web' } };
const application = (addresses?: string) =>
  ruleOf(
    'SdewanApplication',
    'web',
    { podSelector },
    addresses === undefined ? {} : { annotations: { [POD_ADDRESSES_ANNOTATION]: addresses } },
  );
const compiled = (addresses?: string) => {
  const { desired, verdicts } = compile(inputOf([application(addresses)]));
  return {
    verdict: verdicts[0]?.verdict,
    reason: verdicts[0]?.reason,
    sources: desired.get('network')?.map(({ options }) => options.src),
  };
};

describe('SdewanApplication', () => {
  it('waits until the coordinator has written the addresses of the pods', () => {
    expect(compiled()).toEqual({ verdict: 'pending', reason: 'WaitingForPods', sources: [] });
  });

  it('is a rule per address', () => {
    const sources = ['10.0.0.1/32', 'fd00::1/128'];
    expect(compiled('10.0.0.1,fd00::1')).toMatchObject({ verdict: 'wanted', sources });
  });

  it('is applied without pods, with no sections', () => {
    expect(compiled('')).toMatchObject({ verdict: 'wanted', sources: [] });
  });

  it('ignores text in the annotation that is no address', () => {
    expect(compiled('10.0.0.1,0.0.0.0/0,any')).toMatchObject({ sources: ['10.0.0.1/32'] });
  });

  it('refuses more addresses than the limit, and says so', () => {
    const addresses = Array.from({ length: MAX_POD_ADDRESSES + 1 }, (_, at) => `fd00::${at + 1}`);
    expect(compiled(addresses.join(','))).toMatchObject({ verdict: 'failed', sources: [] });
  });

  it('has another revision when its pods change, so that no old report counts', () => {
    const revisions = [undefined, '', '10.0.0.1'].map((one) => revisionOf(application(one)));
    expect(new Set(revisions).size).toBe(3);
  });

  it.each<[string, object, string]>([
    ['labels', { podSelector: { matchLabels: { b: '2', a: '1' } } }, 'a=1,b=2'],
    [
      'expressions',
      {
        podSelector: {
          matchExpressions: [
            { key: 'tier', operator: 'In', values: ['b', 'a', 'b'] },
            { key: 'x', operator: 'NotIn', values: ['1'] },
            { key: 'e.org/y', operator: 'Exists' },
            { key: 'z', operator: 'DoesNotExist', values: [] },
          ],
        },
      },
      '!z,e.org/y,tier in (a,b),x notin (1)',
    ],
    ['a namespace alone', { podSelector: {}, appNamespace: 'shop' }, ''],
  ])('asks the API server for %s', (_what, spec, labelSelector) => {
    const checked = checkSpec(sdewanApplication, spec);
    expect('spec' in checked && sdewanApplication.pods?.(checked.spec)).toMatchObject({
      labelSelector,
    });
  });

  it.each<[string, object, RegExp]>([
    ['all pods of the cluster', { podSelector: {}, appNamespace: '' }, /would select all pods/],
    ['no selector', {}, /spec.podSelector: is required/],
    ['a key that is none', { podSelector: { matchLabels: { 'a b': '1' } } }, /key of a label/],
    [
      'In without values',
      { podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      /need values/,
    ],
    [
      'Exists with values',
      { podSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
      /need values/,
    ],
  ])('refuses %s', (_what, spec, words) => {
    const checked = checkSpec(sdewanApplication, spec);
    expect('problem' in checked && checked.problem.message).toMatch(words);
  });
});
