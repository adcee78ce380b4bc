/** Rule CRs of a test: made, read and deleted through the API server. */
import { isNotFound } from '#shared/kube/errors.ts';
import type * as z from 'zod';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL, RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import { ruleStatusSchema, type RuleStatus } from '#shared/protocol/status.ts';
import type { Fixture } from './fixture.ts';

const schema = objectSchema.extend({ status: ruleStatusSchema.optional() });
type FirewallRule = z.infer<typeof schema>;

export const firewallRules: ResourceType<FirewallRule> = {
  group: RULE_GROUP,
  version: RULE_VERSION,
  plural: 'firewallrules',
  kind: 'FirewallRule',
  schema,
};

export type NewRule = {
  name: string;
  purpose?: string | null;
  finalizers?: string[];
  spec?: object;
};

export const createRule = ({ client, namespace }: Fixture, rule: NewRule): Promise<RuleObject> => {
  const { name, purpose = 'cnf-1', finalizers, spec = { src: 'lan1', target: 'REJECT' } } = rule;
  return client.create(firewallRules, {
    apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
    kind: 'FirewallRule',
    metadata: {
      name,
      namespace,
      labels: purpose === null ? {} : { [PURPOSE_LABEL]: purpose },
      ...(finalizers && { finalizers }),
    },
    spec,
  });
};

export const updateRule = (
  { client, namespace }: Fixture,
  name: string,
  body: object,
): Promise<RuleObject> =>
  client.patch(firewallRules, { namespace, name }, { patch: { type: 'merge', body } });

export const deleteRule = ({ client, namespace }: Fixture, name: string): Promise<void> =>
  client.delete(firewallRules, { namespace, name });

/** Undefined when it is gone. */
export const readRule = async (
  { client, namespace }: Fixture,
  name: string,
): Promise<FirewallRule | undefined> => {
  try {
    return await client.get(firewallRules, { namespace, name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

export const statusOf = async (fixture: Fixture, name: string): Promise<RuleStatus | undefined> =>
  (await readRule(fixture, name))?.status;

/** `<type> <reason> <message>` of each Event on objects of the name. */
export const eventsOn = async (
  { cluster, namespace }: Fixture,
  name: string,
): Promise<string[]> => {
  const { stdout } = await cluster.kubectl([
    'get',
    'events',
    '-n',
    namespace,
    '--field-selector',
    `involvedObject.name=${name}`,
    '-o',
    'jsonpath={range .items[*]}{.type} {.reason} {.message}{"\\n"}{end}',
  ]);
  return stdout.split('\n').filter((line) => line !== '');
};
