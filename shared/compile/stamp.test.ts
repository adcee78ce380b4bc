import { describe, expect, it } from 'vitest';
import { kinds } from '../resources/registry.ts';
import { inDialect } from '../resources/dialect.ts';
import type { UciSection } from '../uci/model.ts';
import { STAMP, stamped, stampedIn, withoutStampsAlone } from './stamp.ts';
import { namedSection } from './testing.ts';

const policy = namedSection('policy', 'balance', { last_resort: 'default' });
const ours = stamped(policy, 'Mwan3Policy');
const found = (packageName: string, section: UciSection, of = kinds) => [
  ...stampedIn(new Map([[packageName, { name: packageName, sections: [section] }]]), of),
];

describe('the stamp of a section', () => {
  it('says for what kind it was made', () => {
    expect(found('mwan3', ours)).toEqual([['mwan3.balance', 'Mwan3Policy']]);
  });

  it.each<[string, UciSection]>([
    ['it has none', policy],
    ['it was copied or renamed', { ...ours, name: 'mine' }],
    ['its stamp is a list', { ...ours, options: { [STAMP]: ['Mwan3Policy/balance'] } }],
    ['its stamp is of something else', { ...ours, options: { [STAMP]: 'balance' } }],
  ])('makes none ours when %s', (_what, section) => {
    expect(found('mwan3', section)).toEqual([]);
  });

  it('makes a section ours only in packages whose sections bear one', () => {
    expect(found('firewall', ours)).toEqual([]);
    expect(found('mwan3/policies', ours, inDialect(kinds, 'icn'))).toEqual([]);
  });
});

describe('what is wanted of a section without a stamp', () => {
  const wanted = (there: UciSection, isOurs = true) =>
    withoutStampsAlone([ours], { name: 'mwan3', sections: [there] }, () => isOurs);

  it('is as it is, when it is ours and lacks nothing else', () => {
    expect(wanted(policy)).toEqual([policy]);
  });

  it('has the stamp, when it has to be written anyway', () => {
    expect(wanted({ ...policy, options: {} })).toEqual([ours]);
    expect(wanted(namedSection('policy', 'other'))).toEqual([ours]);
    expect(wanted(policy, false)).toEqual([ours]);
  });
});
