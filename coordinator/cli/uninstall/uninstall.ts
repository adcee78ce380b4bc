/**
 * Takes the product out of a cluster in the one order that leaves nothing stuck in Terminating:
 * webhooks, which would block pods and deletions once they are not served; rules, while agents and
 * coordinator are there to remove them from the CNFs; the coordinator, before it creates again what
 * is removed next; then what it left in namespaces, the CRDs, and the rest.
 */
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isOutdated } from '#shared/kube/errors.ts';
import { removeFinalizers } from '#shared/kube/fenced.ts';
import { AGENTS_FINALIZER, ICN_FINALIZERS, KEPT_SELECTOR } from '#shared/names.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { isGated, otherGates, portPods } from '../../controllers/network-ports/objects.ts';
import { podResource } from '../../sources/workload.ts';
import { ruleStateOf } from '../../views/rule-state.ts';
import {
  coordinatorIsThere,
  deploymentKinds,
  findRules,
  findUsersRules,
  hasFailed,
  isOfNetworkPolicies,
  isDeleting,
  keptKinds,
  labelled,
  leaseAndSecret,
  nameOf,
  namespaceKinds,
  clusterKinds,
  cnfDeployments,
  coordinatorKinds,
  ownCrds,
  PART_OF,
  statusKinds,
  webhookKinds,
} from './found.ts';
import { clear, deletionProblemsOf, findAll, type Found, type RemovalDeps } from './removal.ts';

export type UninstallOptions = RemovalDeps & {
  client: KubeClient;
  /** Rules that are not confirmed in time go unconfirmed. */
  force: boolean;
  /** Rules, CRDs and the coordinator's namespace stay, and what is on the CNFs. */
  keepRules: boolean;
  /** It stays, without what is the product's in it. */
  keepNamespace: string | undefined;
  /** Where there are rules nothing is changed. */
  unlessRules: boolean;
  /** For each step. */
  timeoutMs: number;
  signal: AbortSignal;
};

/**
 * True when nothing is left of what should go. Can be run again wherever it stopped. @throws
 * KubeError, or the signal's reason
 */
export const uninstall = async (options: UninstallOptions): Promise<boolean> => {
  const steps = options.keepRules ? whatHoldsRules(options) : everything(options);
  for (const step of options.unlessRules ? [noRules(options), ...steps] : steps)
    if (!(await step())) return false;
  return true;
};

/** True: done. */
type Step = () => Promise<boolean>;

const cleared =
  (options: UninstallOptions, what: string, find: () => Promise<Found[]>): Step =>
  async () => {
    const left = await clear(options, { ...options, what, find });
    for (const one of left) {
      const why = deletionProblemsOf(one).map(({ message }) => message);
      options.say(`  remaining: ${[nameOf(one), ...why].join(': ')}`);
      for (const line of await podsIn(one, options)) options.say(`  remaining: ${line}`);
    }
    return left.length === 0;
  };

/**
 * A namespace whose conditions say that all is removed is held by pods that are being deleted, of a
 * node that is lost or with finalizers.
 */
const podsIn = async (
  { resource, object }: Found,
  { client, signal }: UninstallOptions,
): Promise<string[]> => {
  if (!namespaceKinds.includes(resource)) return [];
  const pods = await findAll(client, [podResource], { namespace: object.metadata.name, signal });
  return pods.map((pod) => {
    const { finalizers = [], deletionTimestamp = '' } = pod.object.metadata;
    const held = finalizers.length > 0 ? `finalizers ${finalizers.join(', ')}` : 'its kubelet';
    return `${nameOf(pod)}: waits since ${deletionTimestamp} for ${held}`;
  });
};

const noRules =
  (options: UninstallOptions): Step =>
  async () => {
    const { say } = options;
    const found = await findUsersRules(options);
    if (found.length === 0) return true;
    say('nothing is changed, since there are rules:');
    sayNames(options, found.map(nameOf));
    const kept = options.keepNamespace ? ` --keep-namespace=${options.keepNamespace}` : '';
    say(`\`sdewan uninstall --yes${kept}\` deletes them, and removes them from CNFs;`);
    say('with --keep-rules they stay, and so does what is configured on CNFs.');
    return false;
  };

const webhooksGone = (options: UninstallOptions): Step =>
  cleared(options, 'webhooks', labelled(options, webhookKinds, PART_OF));
const coordinatorGone = (options: UninstallOptions): Step =>
  cleared(options, 'coordinator', labelled(options, deploymentKinds, PART_OF));
const namespacesCleared = (options: UninstallOptions): Step => {
  const kept = labelled(options, keptKinds, KEPT_SELECTOR);
  return cleared(options, 'rights and CAs in namespaces', kept);
};
const policiesGone = (options: UninstallOptions): Step =>
  cleared(options, 'policies and roles', labelled(options, clusterKinds, PART_OF));

/**
 * Pods that wait for addresses would wait for ever. An API server adds gates by the policy of
 * deploy/1.36 until it has seen that this is gone.
 */
const gatesOpened =
  (options: UninstallOptions): Step =>
  async () => {
    const { client, say, signal } = options;
    const selection = { fieldSelector: 'spec.nodeName=', pageSize: PAGE_SIZE, signal };
    const { items } = await client.list(portPods, selection);
    const waiting = items.filter(isGated);
    let isOvertaken = false;
    if (waiting.length > 0) say(`pods that wait for addresses: ${waiting.length} let go`);
    for (const pod of waiting) {
      const { namespace, name, uid, resourceVersion } = pod.metadata;
      const spec = { schedulingGates: otherGates(pod) };
      const patch = { type: 'merge', body: { metadata: { uid, resourceVersion }, spec } } as const;
      try {
        await client.patch(portPods, { namespace, name }, { patch, answer: 'metadata', signal });
      } catch (error) {
        // The Job of Helm may patch no pods.
        if (isForbidden(error)) {
          say(
            `  kubectl patch pod ${name} -n ${namespace} --type=merge -p '${JSON.stringify({ spec })}'`,
          );
          continue;
        }
        unlessOvertaken(error);
        isOvertaken = true;
      }
    }
    // Another version of the pod, or another pod of its name: no later step looks at it.
    return isOvertaken ? await gatesOpened(options)() : true;
  };

/**
 * An API server looks once a second which policies are bound. The settings of two are ConfigMaps,
 * which go after this. One that sees a ConfigMap go while it still takes the policy for
 * bound finds none of that name until it is restarted, whatever is installed again
 * (kubernetes/kubernetes#130887), and then refuses all rules that the policy judges.
 */
const policiesUnbound =
  ({ clock, signal }: UninstallOptions): Step =>
  async () => {
    await clock.sleep(POLICIES_UNBOUND_MS, signal);
    return true;
  };

const POLICIES_UNBOUND_MS = 3_000;

/** Their Deployments stay, and serve on as those of people. */
const fleetsReleased =
  (options: UninstallOptions): Step =>
  async () => {
    const find = () => findAll(options.client, [cnfDeployments], { signal: options.signal });
    const clearing = { ...options, what: 'CNFDeployments', find, leavesDependents: true } as const;
    return (await clear(options, clearing)).length === 0;
  };

/**
 * The coordinator would make what CNFs enforce of NetworkPolicies again and again. While their
 * kinds are being deleted, the API server takes no new ones, and those that there are go as rules
 * do.
 */
const enforcementEnds =
  (options: UninstallOptions): Step =>
  async () => {
    const { client, signal } = options;
    const found = await ownCrds(options);
    for (const { resource, object } of found.filter((crd) => isOfNetworkPolicies(crd))) {
      const { name, uid } = object.metadata;
      await client
        .delete(resource, { name }, { preconditions: { uid }, signal })
        .catch(unlessOvertaken);
    }
    return true;
  };

const belongingsGone = (options: UninstallOptions): Step =>
  cleared(options, 'what belongs to the coordinator', async () => [
    ...(await labelled(options, coordinatorKinds, PART_OF)()),
    ...(await leaseAndSecret(options, options.keepNamespace)),
  ]);

const everything = (options: UninstallOptions): Step[] => [
  webhooksGone(options),
  fleetsReleased(options),
  enforcementEnds(options),
  () => removeRules(options, 'rules', () => findRules(options)),
  coordinatorGone(options),
  policiesUnbound(options),
  gatesOpened(options),
  namespacesCleared(options),
  cleared(options, 'CRDs', () => crdsTriedAgain(options)),
  policiesGone(options),
  policiesUnbound(options),
  options.keepNamespace === undefined
    ? cleared(options, 'namespace of the coordinator', labelled(options, namespaceKinds, PART_OF))
    : belongingsGone(options),
];

const whatHoldsRules = (options: UninstallOptions): Step[] => [
  webhooksGone(options),
  () => removeRules(options, 'rules being deleted', () => rulesBeingDeleted(options)),
  coordinatorGone(options),
  policiesUnbound(options),
  gatesOpened(options),
  namespacesCleared(options),
  cleared(options, 'CNFStatuses', labelled(options, statusKinds, KEPT_SELECTOR)),
  // Before the finalizers: a policy lets only the coordinator and administrators of the cluster
  // take them off.
  policiesGone(options),
  policiesUnbound(options),
  () => takeFinalizersOff(options),
  belongingsGone(options),
];

/**
 * The API server waits longer and longer before it tries again to delete the objects of a kind,
 * minutes in the end. That is easily met with kinds that are younger than some seconds (measured,
 * 1.36: "storage is (re)initializing"). Any change makes it try at once.
 */
const crdsTriedAgain = async (options: UninstallOptions): Promise<Found[]> => {
  const { client, clock, signal } = options;
  const found = await ownCrds(options);
  for (const { resource, object } of found.filter((crd) => isDeleting(crd) && hasFailed(crd))) {
    const { name, uid } = object.metadata;
    const annotations = { [TRIED_AGAIN_ANNOTATION]: new Date(clock.now()).toISOString() };
    const patch = { type: 'merge', body: { metadata: { uid, annotations } } } as const;
    await client.patch(resource, { name }, { patch, signal }).catch(unlessOvertaken);
  }
  return found;
};

const TRIED_AGAIN_ANNOTATION = 'sdewan.akraino.org/deletion-tried-again';

const rulesBeingDeleted = async (options: UninstallOptions): Promise<Found[]> =>
  (await findRules(options)).filter(isDeleting);

const removeRules = async (
  options: UninstallOptions,
  what: string,
  find: () => Promise<Found[]>,
): Promise<boolean> => {
  const { force, say, signal } = options;
  const timeoutMs = (await coordinatorIsThere(options)) ? options.timeoutMs : 0;
  const clearing = { what, find, signal };
  const left = await clear(options, { ...clearing, timeoutMs });
  if (left.length === 0) return true;
  say(
    timeoutMs === 0
      ? 'rules: no coordinator runs, so no agent can report'
      : 'rules: not every CNF has confirmed that they are removed',
  );
  sayNames(
    options,
    left.map((one) => [nameOf(one), ...wordsOf(one)].join(': ')),
  );
  if (!force) {
    say(
      'Fix the cause and run the command again, or remove their finalizers with --force: their configuration then',
    );
    say(
      'stays on OpenWRT until the pod is re-created. `kubectl apply -k deploy` restores what was removed.',
    );
    return false;
  }
  const released = withoutFinalizers(options, [AGENTS_FINALIZER, ...ICN_FINALIZERS]);
  const release = async (): Promise<Found[]> => {
    const found = await find();
    await released(found.filter(isDeleting));
    return found;
  };
  return (
    (await clear(options, { ...clearing, find: release, timeoutMs: options.timeoutMs })).length ===
    0
  );
};

const sayNames = ({ say }: UninstallOptions, names: readonly string[]): void => {
  for (const name of names.slice(0, MAX_NAMED)) say(`  ${name}`);
  if (names.length > MAX_NAMED) say(`  and ${names.length - MAX_NAMED} more`);
};

const MAX_NAMED = 20;

/** Without a coordinator ours would stay; ICN's are for its controller. */
const takeFinalizersOff = async (options: UninstallOptions): Promise<boolean> => {
  const released = withoutFinalizers(options, [AGENTS_FINALIZER]);
  for (;;) {
    const held = (await findRules(options)).filter(({ object }) =>
      object.metadata.finalizers?.includes(AGENTS_FINALIZER),
    );
    if (held.length === 0) return true;
    options.say(`rules that stay: removing the finalizer of ${held.length}`);
    await released(held);
  }
};

const withoutFinalizers =
  ({ client, signal }: UninstallOptions, names: readonly string[]) =>
  async (found: readonly Found[]): Promise<void> => {
    for (const { resource, object } of found)
      await removeFinalizers({ client, resource, object }, names, { signal }).catch(
        unlessOvertaken,
      );
  };

/** The next look tells what became of it. */
const unlessOvertaken = (error: unknown): void => {
  if (!isOutdated(error)) throw error;
};

/** None of what the coordinator keeps besides rules. */
const wordsOf = ({ object }: Found): string[] =>
  kindOf(object.kind) ? [ruleStateOf(object).cause || 'in sync'] : [];
