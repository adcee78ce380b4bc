/**
 * What is stored, works, and is refused or left out by this version where it has nothing to do with a schema: `docs/upgrading.md` says what each is. Pure, and so
 * it can be asked before the policies that refuse it are there.
 */
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import { sdewanApplication } from '#shared/resources/rules/sdewan-application.ts';
import { few } from '#shared/runtime/few.ts';
import type { Workload } from '../../cnf/workload.ts';
import { bad, good, unknown } from './states.ts';
import type { Item } from './view.ts';

export type ServingWorkload = Pick<
  Workload,
  'kind' | 'namespace' | 'name' | 'uid' | 'purpose' | 'templatePurpose' | 'controller' | 'deleting'
>;

const ruleName = ({ kind, metadata }: RuleObject): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`;

/** Workloads of one controller are one CNF. */
export const secondCnfsItem = (workloads: readonly ServingWorkload[]): Item => {
  const serving = workloads
    .filter(({ deleting }) => !deleting)
    .flatMap((workload) =>
      [...new Set([workload.purpose, workload.templatePurpose])].flatMap((purpose) =>
        purpose ? [{ workload, cnf: `${workload.namespace}/${purpose}` }] : [],
      ),
    );
  const crowded = [...Map.groupBy(serving, ({ cnf }) => cnf)].flatMap(([cnf, group]) => {
    const roots = new Set(group.map(({ workload }) => workload.controller?.uid ?? workload.uid));
    const names = group.map(({ workload: { kind, name } }) => `${kind} ${name}`);
    return roots.size > 1 ? [`${cnf} has ${names.join(', ')}`] : [];
  });
  return crowded.length === 0
    ? good('each purpose has one workload in a namespace')
    : bad(
        `more than one workload for a purpose: ${few(crowded)}`,
        'they keep the pods that they have, and get no new ones',
        'Give one of them another purpose.',
      );
};

const selectionSchema = z.looseObject({ appNamespace: z.string().optional() });

/**
 * `accepts`: namespace -> the namespaces whose rules may select its pods. A rule that names no namespace takes those that accept it, so nothing of it is refused
 * that can be told.
 */
export const selectionsItem = (
  rules: readonly RuleObject[],
  accepts: ReadonlyMap<string, readonly string[]>,
): Item => {
  const refused = rules.flatMap((rule) => {
    if (rule.kind !== sdewanApplication.kind) return [];
    const { appNamespace } = selectionSchema.safeParse(rule.spec).data ?? {};
    const { namespace } = rule.metadata;
    if (!appNamespace || appNamespace === namespace) return [];
    return accepts.get(appNamespace)?.includes(namespace)
      ? []
      : [`${ruleName(rule)} selects pods of ${appNamespace}`];
  });
  return refused.length === 0
    ? good('pods that rules of other namespaces select are in namespaces that accept them')
    : bad(
        `pods of namespaces that do not accept it: ${few(refused)}`,
        'they are left out',
        'Annotate the namespace of the pods: sdewan.akraino.org/accepts-services-from=<namespaces of the rules>',
      );
};

const connectionsSchema = z.looseObject({
  connections: z.array(
    z.looseObject({ local_updown: z.string().optional(), remote_updown: z.string().optional() }),
  ),
});

/** `programs`: what IPsec connections may have strongSwan run; undefined: nobody lists it yet. */
export const programsItem = (
  rules: readonly RuleObject[],
  programs: readonly string[] | undefined,
): Item => {
  const naming = rules.flatMap((rule) => {
    const { connections = [] } = connectionsSchema.safeParse(rule.spec).data ?? {};
    const named = connections
      .flatMap(({ local_updown: local = '', remote_updown: remote = '' }) => [local, remote])
      .filter((program) => program !== '' && !programs?.includes(program));
    return named.length === 0 ? [] : [`${ruleName(rule)} names ${few([...new Set(named)])}`];
  });
  if (naming.length === 0) return good('programs of IPsec connections are listed');
  const what = `programs of IPsec connections: ${few(naming)}`;
  const cure = 'List them in ConfigMap sdewan-programs, if they are in the image of the CNF.';
  return programs === undefined
    ? unknown(what, 'nothing lists yet which may run', cure)
    : bad(
        what,
        'they are not listed: such a rule goes on, and can only be changed without them',
        cure,
      );
};
