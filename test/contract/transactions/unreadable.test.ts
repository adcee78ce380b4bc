/**
 * A package that is empty harms no rule of another package; one that cannot be read: kept.test.ts.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { PATHS, startFixture, type Fixture } from './fixture.ts';

const before = [zone, firewallRule('changes', '2'), policy('balance'), mwan3Rule('web', '80')];
const after = [
  zone,
  firewallRule('changes', '20', 2),
  firewallRule('comes', '4'),
  policy('balance'),
  mwan3Rule('web', '80'),
];

const proposal = ruleOf('IpsecProposal', 'aes', {
  encryption_algorithm: 'aes128',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});

describe.each(PATHS)('on the %s path', (path) => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await startFixture(path);
  });
  afterEach(() => fixture.stop());

  it('gives a package that was emptied its rules again', async () => {
    const { converge, states } = await fixture.open();
    await converge([...before, proposal]);
    fixture.write('ipsec', '');
    await converge([...after, proposal]);
    expect(fixture.names('ipsec')).toContain('aes');
    expect(Object.values(states()).filter((state) => state !== 'Applied')).toEqual([]);
  });

  it('rules for which an empty package lacks something wait for that, and no others', async () => {
    fixture.write('mwan3', '');
    const { converge, states, messageOf } = await fixture.open();
    await converge(before);
    expect(states()).toEqual({
      lan1: 'Applied',
      changes: 'Applied',
      balance: 'Pending: WaitingForInterface',
      web: 'Pending: WaitingForReference',
    });
    expect(messageOf('balance')).toContain('net1');
  });
});
