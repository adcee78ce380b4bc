/** Rule CRs for unit tests of those who watch and write them. */
import { objectSchema, type ObjectMeta, type RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER, PURPOSE_LABEL } from '#shared/names.ts';

export const ruleResource = {
  group: 'g',
  version: 'v1',
  plural: 'firewallrules',
  kind: 'FirewallRule',
  schema: objectSchema,
};

export const ruleObject = (changes: Partial<ObjectMeta> = {}): RuleObject => ({
  apiVersion: 'g/v1',
  kind: 'FirewallRule',
  metadata: {
    namespace: 'edge',
    name: 'reject-80',
    uid: 'rule-1',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-02T03:04:05Z',
    labels: { [PURPOSE_LABEL]: 'cnf-1' },
    finalizers: [AGENTS_FINALIZER],
    ...changes,
  },
});
