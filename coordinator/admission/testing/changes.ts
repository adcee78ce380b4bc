/** Rule CRs, requests and facts for the unit tests of admission. */
import { kinds, kindOf } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { CheckContext, Facts, RuleChange } from '../checks/check.ts';
import type { AdmissionRequest, Operation } from '../review.ts';
import type { FactSource } from '../fact-source.ts';
import { indexKeysOf } from '../index-keys.ts';
import { filterOf, identified, shapeOf, type KeptRule } from '../../sources/kept-rule.ts';

export const context: CheckContext = {
  kinds,
  bucketTypes: ['basic', 'app-intent', 'k8s-service'],
};

export const rule = (
  kind: string,
  name: string,
  spec: object,
  metadata: Partial<RuleObject['metadata']> = {},
): RuleObject => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: {
    name,
    namespace: 'edge',
    uid: `uid-of-${kind}-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { sdewanPurpose: 'cnf-1' },
    ...metadata,
  },
  spec,
});

export const zone = (name: string, metadata: Partial<RuleObject['metadata']> = {}): RuleObject =>
  rule('FirewallZone', name, { network: ['ovn-net1'] }, metadata);

export const facts = (some: Partial<Facts> = {}): Facts => ({
  rules: [],
  filters: [],
  links: [],
  networks: undefined,
  purposes: new Set(),
  grants: [],
  ...some,
});

export const change = (some: {
  before?: RuleObject;
  after?: RuleObject;
  user?: RuleChange['user'];
  specChanged?: boolean;
}): RuleChange => {
  const judged = some.after ?? some.before;
  const kind = kindOf(judged?.kind ?? '');
  if (!judged || !kind) throw new Error('a change needs an object of a known kind');
  return {
    operation: operationOf(some.before, some.after),
    kind,
    namespace: judged.metadata.namespace,
    name: judged.metadata.name,
    purpose: judged.metadata.labels?.['sdewanPurpose'] ?? '',
    before: some.before,
    after: some.after,
    specChanged: some.specChanged ?? some.after !== undefined,
    user: some.user ?? { username: 'anna', groups: ['system:authenticated'] },
  };
};

const operationOf = (before: RuleObject | undefined, after: RuleObject | undefined): Operation => {
  if (before === undefined) return 'CREATE';
  return after === undefined ? 'DELETE' : 'UPDATE';
};

export const requestOf = (
  before: RuleObject | undefined,
  after: RuleObject | undefined,
  some: Partial<AdmissionRequest> = {},
): AdmissionRequest => {
  const judged = after ?? before;
  const plural = kindOf(judged?.kind ?? '')?.plural ?? '';
  return {
    uid: 'review-1',
    resource: { group: 'batch.sdewan.akraino.org', version: 'v1alpha1', resource: plural },
    name: judged?.metadata.name ?? '',
    namespace: judged?.metadata.namespace ?? '',
    operation: operationOf(before, after),
    userInfo: { username: 'anna', groups: ['system:authenticated'] },
    object: after,
    oldObject: before,
    dryRun: false,
    ...some,
  };
};

/** `asked` counts the look-ups. */
export const fixtureOf = (some: Partial<Facts>): FactSource & { asked: string[] } => {
  const known = facts(some);
  const asked: string[] = [];
  return {
    asked,
    rules: async () => {
      asked.push('rules');
      return known.rules;
    },
    filters: async () => {
      asked.push('filters');
      return known.filters;
    },
    links: async () => {
      asked.push('links');
      return known.links;
    },
    networks: async () => {
      asked.push('networks');
      return known.networks;
    },
    purposes: async () => {
      asked.push('purposes');
      return known.purposes;
    },
    grants: async () => {
      asked.push('grants');
      return known.grants;
    },
  };
};

/** A rule as the coordinator keeps it. */
export const inMemory = (one: RuleObject): KeptRule => ({
  ...identified(one),
  revision: 'r1',
  indexKeys: indexKeysOf(one, filterOf(one)),
  shape: shapeOf(one),
  filter: filterOf(one),
});
