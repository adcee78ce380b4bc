/** Rule CRs and inputs for tests. */
import { RULE_GROUP, RULE_VERSION } from '../names.ts';
import type { ObjectMeta, RuleObject } from '../kube/objects.ts';
import { ASSUMED } from '../resources/capabilities.ts';
import type { UciSection } from '../uci/model.ts';
import { secretKey } from './types.ts';
import type { CompileInput } from './types.ts';

export const ruleOf = (
  kind: string,
  name: string,
  spec: unknown,
  metadata: Partial<ObjectMeta> = {},
): RuleObject => ({
  apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
  kind,
  metadata: {
    name,
    namespace: 'default',
    uid: `${kind}-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { sdewanPurpose: 'cnf-1' },
    ...metadata,
  },
  spec,
});

/** As far as anybody but strongSwan looks. */
export const pemOf = (label: string, body: string): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(body).toString('base64')}\n-----END ${label}-----\n`;

export const DELETING = { deletionTimestamp: '2026-01-02T00:00:00Z' };

export const namedSection = (
  type: string,
  name: string,
  options: UciSection['options'] = {},
): UciSection => ({ name, anonymous: false, type, options });

/**
 * An OpenWRT with an administrator's zone `wan` and the mwan3 interfaces net1 and net2, on a pod
 * with the seed's networks, whose default route goes by eth0.
 */
export const inputOf = (
  rules: readonly RuleObject[],
  overrides: Partial<CompileInput> = {},
): CompileInput => ({
  rules,
  networks: new Map([
    ['ovn-priv-net', 'net0'],
    ['ovn-net1', 'net1'],
    ['ovn-net2', 'net2'],
  ]),
  devices: {
    defaultRoute: 'eth0',
    byAddress: new Map([
      ['10.1.2.3', 'net1'],
      ['fd00::3', 'net2'],
    ]),
  },
  secrets: new Map([
    [secretKey('vpn', 'psk'), 'from-the-secret\n'],
    [secretKey('vpn', 'tls.key'), pemOf('PRIVATE KEY', 'not a real key, from the Secret')],
  ]),
  capabilities: ASSUMED,
  lastGood: new Map(),
  observed: new Map(
    [
      {
        name: 'firewall',
        sections: [
          namedSection('defaults', 'defaults'),
          namedSection('zone', 'wan', { name: 'wan' }),
        ],
      },
      {
        name: 'mwan3',
        sections: [namedSection('interface', 'net1'), namedSection('interface', 'net2')],
      },
      {
        name: 'network',
        sections: ['eth0', 'net1', 'net2', 'vti_10.1.2.3'].map((device) =>
          namedSection('interface', `if_${device}`, { device }),
        ),
      },
      { name: 'keepalived', sections: [namedSection('globals', 'globals', { enabled: '1' })] },
      {
        name: 'ipsec',
        sections: [namedSection('ipsec', 'ipsec', { rtinstall_enabled: '0' })],
      },
    ].map((uciPackage) => [uciPackage.name, uciPackage]),
  ),
  ledger: new Set(),
  refused: new Map(),
  ...overrides,
});
