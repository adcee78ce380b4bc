/**
 * `sdewan inject` and `sdewan uninject`: the webhook's injection for manifests in files. Says what
 * it did with each workload; a file in which anything is refused comes back as problems only, so
 * that no half of it can be applied.
 */
import * as z from 'zod';
import { isOptedOut } from '#shared/inject/annotations.ts';
import { injectAnnotated, isInjected, uninject } from '#shared/inject/inject.ts';
import type { InjectOptions } from '#shared/inject/options.ts';
import type { PodTemplate } from '#shared/inject/pod.ts';
import { withPurpose } from '#shared/inject/purpose.ts';
import { templateWarnings } from '#shared/inject/warnings.ts';
import { isWithoutWebhook, withoutWebhook, withWebhook } from '#shared/inject/without-webhook.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { templateOf } from '../admission/cnf/template.ts';
import { keysWarning, runsAsDefault } from '../sources/key-access.ts';
import { templateFactsOf } from '../sources/workload.ts';
import { transformManifest, withDocuments } from './manifest/documents.ts';
import { valueAt, withValueAt, workloadPlaces, type Place } from './manifest/workloads.ts';
import { nameOfRoleBinding, roleBindingsOf, type AgentRights } from './rights.ts';

export type InjectSettings = {
  defaults: InjectOptions;
  /** Kinds that service account `default` may not read; empty where its namespace opted in. */
  keyKinds: readonly string[];
  /**
   * The pods are to start without the coordinator, and the manifest brings what they need for it.
   * Absent: as their annotation says.
   */
  withoutWebhook?: boolean;
  /** The namespace of workloads that name none. */
  namespace?: string | undefined;
};

export type ManifestResult =
  | { text: string; notes: readonly string[] }
  /** One line each: where in the file, and what would be right. */
  | { problems: readonly string[] };

type Injected = { template: PodTemplate; note: string; rights?: AgentRights };
type Outcome = Injected | { problems: readonly string[] };
type Work = (
  template: PodTemplate,
  workload: { kind: string; purpose: string | undefined; namespace: string | undefined },
) => Outcome;

/** @throws ManifestError when the text is no manifest */
export const injectManifest = (text: string, settings: InjectSettings): ManifestResult =>
  onEachTemplate(text, (template, { kind, purpose, namespace = settings.namespace }) => {
    const outcome = injectTemplate(template, purpose, settings);
    const isUnchanged = 'problems' in outcome || outcome.template === template;
    return isUnchanged ? outcome : startingAlone(outcome, { kind, namespace }, settings);
  });

/** @throws ManifestError when the text is no manifest */
export const uninjectManifest = (text: string): ManifestResult =>
  onEachTemplate(text, (template) =>
    isInjected(template)
      ? { template: withWebhook(uninject(template)), note: 'agent removed' }
      : { template, note: 'has no agent' },
  );

const injectTemplate = (
  bare: PodTemplate,
  workloadPurpose: string | undefined,
  { defaults, keyKinds }: InjectSettings,
): Outcome => {
  const template = workloadPurpose ? withPurpose(bare, workloadPurpose) : bare;
  const labelled =
    template === bare ? '' : `, pod template labelled ${PURPOSE_LABEL}: ${workloadPurpose}`;
  if (!template.metadata?.labels?.[PURPOSE_LABEL])
    return { template: bare, note: `unchanged: no label ${PURPOSE_LABEL}` };
  if (isOptedOut(template))
    return { template: bare, note: 'unchanged: its annotation disables injection' };
  const withoutKinds = runsAsDefault(template.spec) ? keyKinds : [];
  const warning = [
    ...(withoutKinds.length > 0 ? [keysWarning(withoutKinds)] : []),
    ...templateWarnings(template),
  ].map((each) => `; warning: ${each}`);
  const result = injectAnnotated(template, {
    ...defaults,
    ...(withoutKinds.length > 0 && { withoutKinds }),
  });
  return 'problems' in result
    ? result
    : { template: result.injected, note: `agent injected${labelled}${warning.join('')}` };
};

/**
 * Where the pods are not to wait for a coordinator: with the annotation that says so, and with the
 * rights that it gives to agents.
 */
const startingAlone = (
  { template: injected, note }: Injected,
  { kind, namespace }: { kind: string; namespace: string | undefined },
  { keyKinds, withoutWebhook: isAsked = false }: InjectSettings,
): Outcome => {
  const template = isAsked ? withoutWebhook(injected) : injected;
  if (!isWithoutWebhook(template)) return { template, note };
  if (namespace === undefined)
    return {
      problems: [
        'metadata.namespace: is not set, and the rights of the agent need it: set it, or specify --namespace',
      ],
    };
  const { account } = templateFactsOf(template);
  const readsKeys = !runsAsDefault(template.spec) || keyKinds.length === 0;
  return {
    template,
    // An annotation of a pod that was made without a template tells nothing.
    note:
      kind === 'Pod'
        ? `${note}; it waits for the webhook all the same, since it has no owner`
        : `${note}; its pods start without the webhook`,
    rights: { namespace, account, readsKeys },
  };
};

const onEachTemplate = (text: string, work: Work): ManifestResult => {
  const notes: string[] = [];
  const problems: string[] = [];
  const rights: AgentRights[] = [];
  const before = new Set<string>();
  const at = (index: number, { path, kind, name }: Place): string =>
    `document ${index + 1}, ${path[0] === 'items' ? `item ${Number(path[1]) + 1}, ` : ''}${kind} ${name}`;
  const changed = transformManifest(text, (value, index) => {
    const binding = nameOfRoleBinding(value);
    if (binding !== undefined) {
      before.add(binding);
      return undefined;
    }
    return workloadPlaces(value).reduce((object, place) => {
      const outcome = outcomeOf(object, place, work);
      if ('problems' in outcome) {
        problems.push(...outcome.problems.map((problem) => `${at(index, place)}: ${problem}`));
        return object;
      }
      notes.push(`${at(index, place)}: ${outcome.note}`);
      if (outcome.rights) rights.push(outcome.rights);
      return withValueAt(object, place.path, outcome.template);
    }, value);
  });
  if (problems.length > 0) return { problems };
  const bindings = roleBindingsOf(rights);
  return {
    text: withDocuments(changed, bindings),
    notes: [...notes, ...notesOfRights(bindings, before)],
  };
};

const notesOfRights = (bindings: readonly object[], before: ReadonlySet<string>): string[] => {
  const now = new Set(bindings.flatMap((binding) => nameOfRoleBinding(binding) ?? []));
  const gone = [...before].filter((binding) => !now.has(binding));
  return [
    ...[...now].map((binding) => `RoleBinding ${binding} included`),
    ...gone.map(
      (binding) =>
        `RoleBinding ${binding} removed here; kubectl delete removes it from the cluster`,
    ),
  ];
};

const labelsSchema = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});

const outcomeOf = (object: unknown, { path, kind, namespace }: Place, work: Work): Outcome => {
  try {
    const owner = labelsSchema.safeParse(valueAt(object, path.slice(0, -2)));
    const purpose = owner.data?.metadata?.labels?.[PURPOSE_LABEL];
    return work(templateOf(valueAt(object, path)), {
      kind,
      purpose: typeof purpose === 'string' ? purpose : undefined,
      namespace,
    });
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    const problems = error.issues.map(
      (issue) => `${[...path, ...issue.path].join('.')}: ${issue.message}`,
    );
    return { problems };
  }
};
