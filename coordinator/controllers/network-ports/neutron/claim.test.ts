import { describe, expect, it } from 'vitest';
import { decidePod, type KnownNetwork } from '../decide.ts';
import { NOT_ASKED } from '../subnets.ts';
import { known, networkObject, pod, reasonOf, view, type SomeKnown } from '../testing.ts';
import { neutronPlan, neutronPort, NETWORK } from './testing.ts';

const object = networkObject(
  { provider: 'neutron', neutron: { network: NETWORK }, names: ['net-a'], perNamespace: 2 },
  'lan',
);
const neutron = neutronPlan();
const blocks = neutron.subnets.map(({ block }) => block);
const plan = { blocks, indexes: [], range: '10.70.0.10-10.70.0.60', neutron };
const lan = (some: SomeKnown = {}): KnownNetwork => known({ object, plan, ...some });
const MAC = '02:00:00:00:00:07';
const held = neutronPort('u', MAC, { addresses: ['10.70.0.20'] });

const resting = neutronPort('v', '02:00:00:00:00:08', { releasedAt: '2026-01-01T00:00:00Z' });
const ofSet = { ...resting.spec.claim, owner: 'set' };

const claimed = (of: ReturnType<typeof pod>, network = lan()): unknown => {
  const decision = decidePod(of, view([network]));
  return 'claims' in decision ? decision.claims : decision.wait;
};

describe('the claim of a port in Neutron', () => {
  it('has a MAC of its own, and no address before Neutron gives one', () => {
    const mac = expect.stringMatching(/^.[26ae](:[0-9a-f]{2}){5}$/);
    expect(claimed(pod('a', { interfaces: ['net-a', 'net-a'] }))).toMatchObject([
      { has: false, spec: { network: 'lan', mac, addresses: [] } },
      { has: false, spec: { network: 'lan', mac, addresses: [] } },
    ]);
  });

  it('is found again, with the addresses that it has got', () => {
    const ours = { ...held, spec: { ...held.spec, claim: { ...held.spec.claim, uid: 'a' } } };
    expect(claimed(pod('a'), lan({ ports: [ours] }))).toMatchObject([
      { has: true, spec: { mac: MAC, addresses: ['10.70.0.20'] } },
    ]);
    expect(claimed(pod('a', { fixed: '10.70.0.20' }), lan({ ports: [ours] }))).toMatchObject([
      { has: true },
    ]);
    expect(claimed(pod('a', { fixed: '10.70.0.21' }), lan({ ports: [ours] }))).toMatchObject([
      { has: false, spec: { addresses: ['10.70.0.21'] } },
    ]);
  });

  it('takes one of a pool, unless Neutron refuses that, or it is of earlier subnets or of an earlier network', () => {
    const claim = { namespace: '', pod: '', uid: '', interface: '' };
    const pooled = { ...neutronPort('u', MAC, { portID: 'x' }), spec: { ...held.spec, claim } };
    const network = lan({ ports: [pooled] });
    const fresh = [{ spec: { addresses: [] } }];
    expect(claimed(pod('a'), network)).toMatchObject([{ resting: pooled }]);
    const wait = { reason: 'FixedAddressNotFree', message: 'refused', networks: [] } as const;
    const refusing = view([network], undefined, new Map([[pooled.metadata.name, wait]]));
    expect(decidePod(pod('a'), refusing)).toMatchObject({ claims: fresh });
    const moved = { ...pooled, spec: { ...pooled.spec, addresses: ['10.71.0.20'] } };
    expect(claimed(pod('a'), lan({ ports: [moved] }))).toMatchObject(fresh);
    const metadata = { ...object.metadata, creationTimestamp: '2026-01-01T00:00:01Z' };
    const anew = lan({ object: { ...object, metadata }, ports: [pooled] });
    expect(claimed(pod('a'), anew)).toMatchObject(fresh);
  });

  it.each<[string, Parameters<typeof pod>[1], SomeKnown, string]>([
    ['the network has no room', {}, { full: 'no room' }, 'NoFreeAddress: no room'],
    [
      'its share is used up',
      {},
      { ports: [held, neutronPort('v', '02:00:00:00:00:08')] },
      'NoFreeAddress: namespace edge has 2 of at most 2',
    ],
    [
      'its share rests, for its owner too, which gets another port',
      { owner: 'set' },
      { ports: [held, { ...resting, spec: { ...resting.spec, claim: ofSet } }] },
      'NoFreeAddress: namespace edge has 2 of at most 2',
    ],
    [
      'its address is outside the pool',
      { fixed: '10.70.0.1' },
      {},
      'FixedAddressNotFree: interface net0: 10.70.0.1 is not in',
    ],
    ['another has its address', { fixed: '10.70.0.20' }, { ports: [held] }, 'pod edge/p has it'],
    ['another has its MAC', { mac: MAC.toUpperCase() }, { ports: [held] }, 'pod edge/p has it'],
    ['its MAC is that of a group', { mac: '01:00:5e:00:00:01' }, {}, 'is the MAC of a group'],
    [
      'two of its interfaces have one MAC',
      { mac: MAC, interfaces: ['net-a', 'net-a'] },
      {},
      'another interface of the pod has it',
    ],
    [
      'the network is not there',
      {},
      { plan: { problem: 'none', reason: 'NotFound' } },
      'NetworkNotReady: network lan: none',
    ],
  ])('is none where %s, in words', (_, some, network, words) => {
    expect(reasonOf(decidePod(pod('a', some), view([lan(network)])))).toContain(words);
  });

  it('is not given back while nothing is known of the network', () => {
    const unknown = lan({ plan: { problem: 'no answer', reason: NOT_ASKED } });
    expect(claimed(pod('a'), unknown)).toMatchObject({ isPassing: true });
    const absent = lan({ plan: { problem: 'none', reason: 'NotFound' } });
    expect(claimed(pod('a'), absent)).not.toHaveProperty('isPassing');
  });
});
