import { describe, expect, it } from 'vitest';
import { NFN_NETWORK_ANNOTATION } from '#shared/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { ManagedNetworkSpec } from '#shared/resources/other-kinds/managed-network.ts';
import { networkObject } from '../../controllers/network-ports/testing.ts';
import { roomWarnings } from './room.ts';

const subnets = [{ cidr: '10.1.0.0/24', ranges: ['10.1.0.1-10.1.0.3'] }];

const warningsOf = (
  cnf: object,
  networks: readonly string[] = ['net-a'],
  some: Partial<ManagedNetworkSpec> = {},
): string[] => {
  const entries = networks.map((name, at) => ({ name, interface: `net${at}` }));
  const annotations = {
    [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: entries }),
    other: 1,
  };
  const spec = cnfDeploymentResource.spec.parse({
    selector: { matchLabels: {} },
    template: { metadata: { labels: {}, annotations }, spec: {} },
    ...cnf,
  });
  return roomWarnings(spec, 'edge', [networkObject({ subnets, ...some })]);
};

describe('a roll-out', () => {
  it('has twice its pods at once, and names range and need where that is too small', () => {
    expect(warningsOf({ replicas: 2 })).toEqual([
      'a roll-out has 4 pods at once, which need 4 addresses of network edge-net: its range 10.1.0.1-10.1.0.3 has 3, so pods will wait for addresses',
    ]);
    expect(warningsOf({ replicas: 1 })).toEqual([]);
  });

  it('has one pod more with surge 1, and none with Recreate', () => {
    expect(warningsOf({ replicas: 2, surge: 1 })).toEqual([]);
    expect(warningsOf({ replicas: 3, surge: 1 })).toHaveLength(1);
    expect(warningsOf({ replicas: 3, strategy: 'Recreate' })).toEqual([]);
  });

  it('needs an address for each interface in the network', () => {
    expect(warningsOf({ replicas: 1 }, ['net-a', 'net-a'])[0]).toContain('need 4 addresses');
    expect(warningsOf({ replicas: 4 }, ['net-z'])).toEqual([]);
  });

  it('has no more than the share of its namespace', () => {
    expect(warningsOf({ replicas: 1 }, ['net-a'], { perNamespace: 1 })[0]).toContain(
      'perNamespace allows 1',
    );
  });
});
