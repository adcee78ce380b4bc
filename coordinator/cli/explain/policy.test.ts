import { describe, expect, it } from 'vitest';
import { type PolicyPod } from '#shared/policy/group-members.ts';
import { networkPolicySpecSchema, type Policy } from '#shared/policy/network-policy.ts';
import type { Scope } from '#shared/policy/networks.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { compiledOf, groupsWith, metadataAt, MOMENT, shopPod } from '../policies/testing.ts';
import {
  policyExplanationOf,
  policyExplanationSchema,
  policyExplanationText,
  type ExplainedPolicy,
} from './policy.ts';

const NOW = Date.parse('2026-01-01T00:02:00Z');
const pod = (name: string, app: string, address: string): PolicyPod =>
  shopPod(name, address, {
    labels: { app },
    addresses: [],
    secondAddresses: [{ network: 'net1', addresses: [address] }],
    ports: [{ name: 'sql', protocol: 'TCP', port: 5_432 }],
  });
const PODS = [pod('db-1', 'db', '10.1.2.1'), pod('web-1', 'web', '10.1.1.1')];
const policy: Policy = {
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name: 'db',
  uid: 'u1',
  generation: 2,
  networks: [],
  spec: networkPolicySpecSchema.parse({
    podSelector: { matchLabels: { app: 'db' } },
    ingress: [
      {
        from: [
          { podSelector: { matchLabels: { app: 'web' } }, namespaceSelector: {} },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } },
        ],
        ports: [{ port: 'sql' }],
      },
    ],
  }),
};
/** Groups of a second network have other ids than those of the pods' own addresses. */
const SCOPE: Scope = [{ name: 'net1', subnets: ['10.1.0.0/16'] }];
const compiled = compiledOf(policy, SCOPE);
const groups = groupsWith(compiled.groups, PODS);
const enforcement = (spec: object = {}, status: object = {}): PolicyEnforcement =>
  policyEnforcementResource.schema.parse({
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind: 'PolicyEnforcement',
    metadata: metadataAt('shop.db.1'),
    spec: {
      policy: { namespace: 'shop', name: 'db', uid: 'u1', generation: 2 },
      place: 'net1',
      ...writtenOf(compiled.enforcement),
      ...spec,
    },
    status: {
      inSync: true,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'InSync',
          message: 'generation 1 is on all pods',
          observedGeneration: 1,
          lastTransitionTime: MOMENT,
        },
      ],
      selectedPods: { selected: 2, enforced: 1, summary: '1/2' },
      notEnforced: [{ reason: 'HostNetwork', pods: 1, examples: ['shop/db-2'] }],
      scope: 'only packets that the pods of CNF cnf-1 forward',
      ...status,
    },
  });
const facts = (some: Partial<ExplainedPolicy> = {}): ExplainedPolicy => ({
  policy,
  enforcements: [enforcement()],
  groups,
  pods: PODS,
  events: [
    { type: 'Normal', reason: 'Enforced', message: 'at edge/cnf-1', count: 1, last: MOMENT },
  ],
  ...some,
});

describe('what is known of a policy', () => {
  it('includes what it lets pass, where it is enforced, for which pods not and why, and its groups', () => {
    const view = policyExplanationOf(facts());
    expect(policyExplanationSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
    expect(policyExplanationText(view, NOW)).toBe(`NetworkPolicy/db:
NAMESPACE   GENERATION   ISOLATES   ENFORCED
shop        2            ingress    yes

Lets pass:
DIRECTION   FROM OR TO                            PORTS
ingress     pods with app=web of all namespaces   TCP sql
ingress     10.0.0.0/8 without 10.1.0.0/16        TCP sql

Enforced at:
CNF          PLACE   PODS   STATE    OBJECT
edge/cnf-1   net1    1/2    InSync   shop.db.1
edge/cnf-1: only packets that the pods of CNF cnf-1 forward

Not enforced for:
CNF          REASON        PODS   SUCH AS     WHY
edge/cnf-1   HostNetwork   1      shop/db-2   it has the node's addresses, as has everything else on that node

Groups:
CNF          WHO                                      MEMBERS   SUCH AS
edge/cnf-1   pods with app=db of shop                 1         shop/db-1 (10.1.2.1)
edge/cnf-1   pods with app=web of all namespaces      1         shop/web-1 (10.1.1.1)
edge/cnf-1   pods with app=db of shop with port sql   1         shop/db-1 (10.1.2.1 . 5432)

So far:
LAST   COUNT   TYPE     REASON     MESSAGE
2m     1       Normal   Enforced   at edge/cnf-1
`);
  });

  it('is that it is not in sync where an earlier form is enforced, or none can be', () => {
    const policyAt = { namespace: 'shop', name: 'db', uid: 'u1' };
    const early = enforcement({ policy: { ...policyAt, generation: 1 } });
    const refused = { generation: 2, reason: 'TooLarge', message: '1001 rules' };
    const large = enforcement({ refused });
    for (const [one, reason] of [
      [early, 'Outdated'],
      [large, 'TooLarge'],
    ] as const) {
      const view = policyExplanationOf(facts({ enforcements: [one] }));
      expect(view.enforced).toBe(false);
      expect(view.places).toMatchObject([{ inSync: false, reason }]);
      expect(view.places[0]).not.toHaveProperty('groups');
    }
  });

  it('is what to do where a CNF cannot enforce it', () => {
    const condition = { type: 'Ready', status: 'False', observedGeneration: 1 };
    const ready = { ...condition, reason: 'UnsupportedByDriver', lastTransitionTime: MOMENT };
    const status = { inSync: false, conditions: [{ ...ready, message: 'it has no nft' }] };
    const view = policyExplanationOf(facts({ enforcements: [enforcement({}, status)] }));
    expect(view.places[0]?.cure).toContain('Use an image with nft');
    const text = policyExplanationText(view, NOW);
    expect(text).toContain('edge/cnf-1: it has no nft\n  cure: Use an image with nft');
  });

  it('is that no CNF enforces it, and what would make one do so', () => {
    const view = policyExplanationOf(facts({ enforcements: [] }));
    expect([view.enforced, view.notes]).toEqual([
      false,
      [expect.stringContaining('none names cluster in annotation')],
    ]);
  });

  it('has no members and no names where they may not be seen', () => {
    const blind = policyExplanationOf(facts({ groups: undefined, pods: undefined }));
    expect(blind.places[0]).not.toHaveProperty('groups');
    const nameless = policyExplanationOf(facts({ pods: undefined }));
    expect(nameless.places[0]?.groups?.[0]?.examples).toEqual(['10.1.2.1']);
  });
});
