/**
 * Everything that is installed: the rules of the registry with what agents need not know of them
 * (status and columns), and the resources that are no rules.
 */
import { generatorStatusSchema } from '../protocol/generator-status.ts';
import { ruleStatusSchema } from '../protocol/status.ts';
import { addressGroupResource } from './other-kinds/address-group.ts';
import { cnfDeploymentKind } from './other-kinds/cnf-deployment.ts';
import { cnfSetResource, type CnfSetSpec } from './other-kinds/cnf-set.ts';
import { cnfStatusResource } from './other-kinds/cnf-status.ts';
import { cnfResource, type CnfSpec } from './other-kinds/cnf.ts';
import { MESSAGE_COLUMN, PURPOSE_COLUMN, REASON_COLUMN, shareColumn } from './columns.ts';
import { defineKind, type KindDefinition } from './kind.ts';
import { managedNetworkKind } from './other-kinds/managed-network.ts';
import { networkPortPoolKind } from './other-kinds/network-port-pool.ts';
import { networkPortKind } from './other-kinds/network-port.ts';
import { policyEnforcementResource } from './other-kinds/policy-enforcement.ts';
import { kinds } from './registry.ts';

/** A rule as it is installed. */
export const resourceOfRule = (rule: KindDefinition): KindDefinition => ({
  status: rule.generates ? generatorStatusSchema : ruleStatusSchema,
  columns: [
    PURPOSE_COLUMN,
    shareColumn('Applied', rule.generates ? '.status.children' : '.status.pods'),
    { name: 'In Sync', type: 'boolean', jsonPath: '.status.inSync' },
    REASON_COLUMN,
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    MESSAGE_COLUMN,
    ...(rule.wideColumns ?? []),
  ],
  ...rule,
});

/** Those that are no rules: they have nothing of what only rules have. */
const others: readonly KindDefinition[] = [
  cnfStatusResource,
  cnfDeploymentKind,
  defineKind<CnfSetSpec>(cnfSetResource),
  defineKind<CnfSpec>(cnfResource),
  addressGroupResource,
  policyEnforcementResource,
  managedNetworkKind,
  networkPortKind,
  networkPortPoolKind,
];

export const resources: readonly KindDefinition[] = [...kinds.map(resourceOfRule), ...others];
