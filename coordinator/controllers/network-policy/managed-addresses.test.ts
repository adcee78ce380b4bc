import { describe, expect, it } from 'vitest';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { networkObject, port } from '../network-ports/testing.ts';
import { withManaged } from './managed-addresses.ts';

const adopted = (): ManagedNetwork => ({
  ...networkObject(),
  status: {
    conditions: [
      {
        type: 'Adopted',
        status: 'True',
        reason: 'Adopted',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
});
const forged: PolicyPod = {
  namespace: 'edge',
  name: 'p',
  uid: 'p',
  labels: {},
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: ['10.244.0.1'],
  secondAddresses: [
    { network: 'net-a', addresses: ['10.1.0.3'] },
    { network: 'net-z', addresses: ['10.9.0.3'] },
  ],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
};

describe('the addresses of a pod that policies count', () => {
  const other = { network: 'net-z', addresses: ['10.9.0.3'] };
  const foreign = { network: 'net-a', addresses: ['10.1.0.3'], isForeign: true };

  it('are in a managed network those of its NetworkPorts; what its annotations say beside them is foreign', () => {
    const given = { network: 'net-a', addresses: ['10.1.0.1', 'fd00::1'] };
    expect(withManaged(forged, [adopted()], [port(1, 'p')]).secondAddresses).toEqual([
      other,
      given,
      foreign,
    ]);
    const said = [{ network: 'net-a', addresses: ['10.1.0.1', 'fd00:0::1'] }];
    const honest = { ...forged, secondAddresses: said };
    expect(withManaged(honest, [adopted()], [port(1, 'p')]).secondAddresses).toEqual([given]);
  });

  it('are foreign in a managed network in which it has no NetworkPort, or one that is released', () => {
    expect(withManaged(forged, [adopted()], []).secondAddresses).toEqual([other, foreign]);
    const released = [port(1, 'p', 'edge-net', { releasedAt: 0 })];
    expect(withManaged(forged, [adopted()], released).secondAddresses).toEqual([other, foreign]);
  });

  it('are none of a router, and in a managed network none of a pod that no node runs', () => {
    const network = adopted();
    const subnets = network.spec.subnets?.map((one) => ({ ...one, gateway: '10.1.0.3' }));
    const routed = { ...network, spec: { ...network.spec, subnets } };
    expect(withManaged(forged, [routed], []).secondAddresses).toEqual([other]);
    const idle = { ...forged, isUnscheduled: true } as const;
    expect(withManaged(idle, [adopted()], []).secondAddresses).toEqual([other]);
  });

  it('are those of its NetworkPorts by the full name of an attachment, and of no other namespace', () => {
    const network = adopted();
    const managed = { ...network, spec: { ...network.spec, names: ['edge/lan'] } };
    const said = ['edge/lan', 'lan', 'apps/lan'].map((name) => ({
      network: name,
      addresses: ['10.1.0.3'],
    }));
    const seen = withManaged({ ...forged, secondAddresses: said }, [managed], [port(1, 'p')]);
    expect(seen.secondAddresses).toEqual([
      { network: 'apps/lan', addresses: ['10.1.0.3'] },
      { network: 'edge/lan', addresses: ['10.1.0.1', 'fd00::1'] },
      { network: 'lan', addresses: ['10.1.0.1', 'fd00::1'] },
      { network: 'edge/lan', addresses: ['10.1.0.3'], isForeign: true },
      { network: 'lan', addresses: ['10.1.0.3'], isForeign: true },
    ]);
  });

  it('are as the pod says until the network has claimed those of running pods', () => {
    expect(withManaged(forged, [networkObject()], [])).toEqual(forged);
  });
});
