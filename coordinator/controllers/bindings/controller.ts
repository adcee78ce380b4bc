/**
 * Watches CNF pods, workloads and bindings (they mark namespaces); owns in each namespace with CNFs
 * what their agents need: two RoleBindings, and the ConfigMap with the coordinator's CA; writes
 * these, and removes them when no CNF is left.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type Controller,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';
import { find, isOvertaken, keep, type Desired, type WriteOutcome } from '#shared/kube/owned.ts';
import {
  COORDINATOR_CA_CONFIG_MAP,
  DEFAULT_READS_KEYS_ANNOTATION,
  MANAGED_BY,
} from '#shared/names.ts';
import { rbacResources } from '../../admission/buckets/bindings.ts';
import { namespaces } from '../../sources/workload.ts';
import { bindingFields, desiredBindings } from './objects.ts';

/** Service accounts of the CNF pods and workloads of a namespace. */
export type AccountsOf = (namespace: string) => readonly string[];

export type BindingsDeps = ControllerDeps & {
  client: KubeClient;
  /** Undefined until pods and workloads are known. */
  accounts: () => AccountsOf | undefined;
  /** Those with CNFs, and those that have what we keep in them. */
  namespaces: () => Iterable<string>;
  /**
   * PEM of the CAs to publish; undefined when others give them to the agents: then the ConfigMap is
   * left alone.
   */
  caBundle: (() => string) | undefined;
};

export type BindingsController = Pick<Controller, 'mark' | 'run'> & {
  /**
   * A CNF is about to appear there: its CA should be there before it, although no watch has shown
   * it yet. For a while the namespace counts as having a CNF.
   */
  announce: (namespace: string) => void;
};

/** What comes together, e.g. the pods of a roll-out, is looked at once. */
const COALESCE_MS = 50;
/** From the review of a workload to the event of the watch about it. */
const ANNOUNCED_FOR_MS = 60_000;
/** Another client may have changed what we keep there. */
const LOOK_AGAIN_MS = 300_000;
const CONCURRENCY = 4;

export const createBindingsController = (deps: BindingsDeps): BindingsController => {
  const { client, clock, log } = deps;
  const announcedUntil = new Map<string, number>();

  const isAnnounced = (namespace: string): boolean => {
    const until = announcedUntil.get(namespace) ?? 0;
    if (until > clock.monotonic()) return true;
    announcedUntil.delete(namespace);
    return false;
  };

  const reconcile = async (
    name: string,
    accountsOf: AccountsOf,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const namespace = await find(client, namespaces, { name }, { signal });
    // Nothing can be created in a namespace that is being deleted, and all of it is removed with
    // it.
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined)
      return 'done';
    const accounts = accountsOf(name);
    const inUse = accounts.length > 0 || isAnnounced(name);
    const defaultReadsKeys =
      namespace.metadata.annotations?.[DEFAULT_READS_KEYS_ANNOTATION] === 'true';
    const owned = { client, signal, namespace: name };
    const { caBundle } = deps;
    const outcomes = await Promise.all([
      ...(caBundle
        ? [keepAt(owned, caConfigMap, inUse ? { data: { 'ca.crt': caBundle() } } : undefined)]
        : []),
      ...desiredBindings(accounts, defaultReadsKeys).map(([role, of]) =>
        keepAt(
          owned,
          { resource: roleBindings, name: role },
          of.length > 0 ? bindingFields(role, name, of) : undefined,
        ),
      ),
    ]);
    if (outcomes.some((outcome) => outcome !== 'unchanged'))
      log.info(
        { namespace: name, accounts, outcomes },
        'RoleBindings and CA of a namespace updated',
      );
    if (outcomes.some(isOvertaken)) return OVERTAKEN;
    return inUse ? { againInMs: LOOK_AGAIN_MS } : 'done';
  };

  const controller = createController({
    ...deps,
    name: 'bindings',
    facts: deps.accounts,
    markAll: () => {
      for (const namespace of deps.namespaces()) controller.mark(namespace);
    },
    reconcile,
    fieldsOf: (namespace) => ({ namespace }),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
  });

  return {
    mark: controller.mark,
    run: controller.run,
    announce: (namespace) => {
      const known = isAnnounced(namespace);
      announcedUntil.set(namespace, clock.monotonic() + ANNOUNCED_FOR_MS);
      if (!known) controller.mark(namespace, 0);
    },
  };
};

const roleBindings = { ...rbacResources.roleBindings, schema: objectSchema };
const caConfigMap = {
  resource: resourceV1('', 'configmaps', 'ConfigMap', objectSchema),
  name: COORDINATOR_CA_CONFIG_MAP,
};

/** Touches only objects of our names. `fields` undefined: there is to be none. @throws KubeError */
const keepAt = async (
  { client, namespace, signal }: { client: KubeClient; namespace: string; signal: AbortSignal },
  { resource, name }: typeof caConfigMap,
  fields: Desired['fields'] | undefined,
): Promise<WriteOutcome> => {
  const owned = { client, resource, signal };
  const present = await find(client, resource, { namespace, name }, { signal });
  const desired = fields && { metadata: { namespace, name, labels: MANAGED_BY }, fields };
  // A binding's role cannot be changed.
  const isOfAnother = fields && !isDeepStrictEqual(present?.['roleRef'], fields['roleRef']);
  const removed = present && isOfAnother && (await keep(owned, undefined, present));
  if (removed && removed.outcome !== 'deleted') return removed.outcome;
  return (await keep(owned, desired, removed ? undefined : present)).outcome;
};
