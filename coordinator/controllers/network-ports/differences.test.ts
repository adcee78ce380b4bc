import { describe, expect, it } from 'vitest';
import { differenceOf } from './differences.ts';
import type { PresentAddresses } from './objects.ts';
import { networkObject, port } from './testing.ts';

const MAC = '02:00:00:00:00:01';
const has = (some: Partial<PresentAddresses> = {}): PresentAddresses[] => [
  { name: 'edge/mv', interface: 'net0', addresses: ['10.1.0.1', 'fd00::1'], mac: MAC, ...some },
];
const difference = (present: readonly PresentAddresses[], given = port(1, 'a')) =>
  differenceOf(given, { present }, networkObject({ names: ['net-a', 'edge/mv'] }));

describe('what a pod has', () => {
  it.each<[string, PresentAddresses[]]>([
    ['is as given', has()],
    [
      'is as given in another order and spelling',
      has({ addresses: ['FD00:0::1/64', '10.1.0.1/24'], mac: MAC.toUpperCase() }),
    ],
    ['is as given where its CNI says no MAC', has({ mac: undefined })],
    ['is not known yet', []],
    ['is of another interface', has({ interface: 'net1', addresses: ['10.9.0.1'] })],
    ['is of another network', has({ name: 'edge/other', addresses: ['10.9.0.1'] })],
  ])('%s, and nothing is said', (_, present) => expect(difference(present)).toBeUndefined());

  it('is another address, and both are named', () => {
    expect(difference(has({ addresses: ['10.1.0.9/24'] }))).toBe(
      `interface net0 has 10.1.0.9 ${MAC}, and not 10.1.0.1 fd00::1 ${MAC} of NetworkPort edge-net-1`,
    );
  });

  it('is another MAC', () => {
    expect(difference(has({ mac: '02:aa:00:00:00:01' }))).toContain('02:aa:00:00:00:01, and not');
  });

  it('is its own where it ran before the network', () => {
    const given = port(1, 'a');
    const adopted = { ...given, spec: { ...given.spec, managed: false } };
    expect(difference(has({ mac: '02:aa:00:00:00:01' }), adopted)).toBeUndefined();
  });
});
