/**
 * Watches CRs that make others, and all rules for their children; owns those children; writes them and the status of the CR: host names are
 * resolved, the children planned and written. The garbage collector removes what a deleted CR made.
 */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { checkSpec } from '#shared/compile/check.ts';
import type { Generation, IcnStatus } from '#shared/resources/generation.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  againIn,
  createController,
  OVERTAKEN,
  type ControllerDeps,
  type Outcome,
} from '#shared/kube/controller.ts';
import { isConflict, isForbidden, isInvalid, isNotFound } from '#shared/kube/errors.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { isDeepStrictEqual } from 'node:util';
import { Announcer } from '../rules/announce.ts';
import { hasOurFinalizers, removeOurFinalizers } from '../rules/finalizer.ts';
import { Rules, type RuleVersion } from '../rules/rules.ts';
import { Waiting } from '../rules/waiting.ts';
import type { AddressBook } from './address-book.ts';
import type { Family } from './lookup.ts';
import { Offspring } from './offspring.ts';
import { planChildren, type Plan } from './plan.ts';
import { generatorStatus, type GeneratorProblem } from './status.ts';
import { writeChildren } from './write.ts';

export type ChildrenDeps = ControllerDeps & {
  client: KubeClient;
  kinds: readonly KindDefinition[];
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** Rules that agents apply, the children among them. */
  rules: Pick<Rules, 'get' | 'unknown'>;
  addresses: Pick<AddressBook, 'get'>;
  record: (event: RecordedEvent) => void;
};

export type ChildrenController = {
  /** A rule that agents apply came, went or changed. */
  onRule: (uid: string) => void;
  run: (signal: AbortSignal) => Promise<void>;
};

/** What comes together, e.g. the statuses of several children, becomes one status. */
const COALESCE_MS = 100;
const CONCURRENCY = 8;

/** What became of the children. */
type Brought = {
  problem: GeneratorProblem | undefined;
  total: number;
  icn: IcnStatus;
  /** When an answer of the DNS ends, or with backoff: a name that is taken may be free then, or the watch has told of a conflict. */
  again: Outcome;
};

export const createChildrenController = (deps: ChildrenDeps): ChildrenController => {
  const { client, clock, log } = deps;
  const generating = new Map(
    deps.kinds.flatMap((kind) => (kind.generates ? [[kind.kind, kind] as const] : [])),
  );
  const parents = new Rules({
    client,
    clock,
    log,
    namespace: deps.namespace,
    kinds: [...generating.values()],
    revisionOf: () => '',
    onChange: (uid) => controller.mark(uid, 0),
  });
  const all = new Offspring(deps.rules);
  const announcer = new Announcer();
  const waiting = new Waiting();

  const reconcile = async (
    uid: string,
    offspring: Offspring,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const parent = parents.get(uid);
    const kind = parent && generating.get(parent.object.kind);
    if (!parent || !kind?.generates) {
      waiting.forget(uid);
      announcer.forget(uid);
      return 'done';
    }
    if (parent.rule.deletedAt !== undefined) {
      if (hasOurFinalizers(parent))
        await removeOurFinalizers(client, parent, signal).catch(ignoreChanges);
      return 'done';
    }
    const brought = await bring({ ...kind, generates: kind.generates }, parent, offspring, signal);
    const inMs = await say(parent, brought, offspring, signal);
    const { again } = brought;
    if (inMs === undefined || (again !== 'done' && 'failed' in again)) return again;
    return againIn(Math.min(inMs, again === 'done' ? Infinity : again.againInMs));
  };

  const bring = async (
    kind: KindDefinition & { generates: Generation<unknown> },
    parent: RuleVersion,
    offspring: Offspring,
    signal: AbortSignal,
  ): Promise<Brought> => {
    const present = offspring.of(parent.rule.uid);
    const unchanged = { total: present.length, icn: {}, again: 'done' } as const;
    if (parent.rule.purpose === undefined)
      return { ...unchanged, problem: stalled('NoPurpose', NO_PURPOSE) };
    const checked = checkSpec(kind, parent.object.spec);
    if ('problem' in checked)
      return { ...unchanged, problem: stalled('InvalidSpec', checked.problem.message) };

    const found = await resolve(kind.generates.hosts(checked.spec), signal);
    const { addresses, unknown, againInMs, problem } = found;
    const again = againIn(againInMs);
    if (!addresses) return { ...unchanged, again, problem };
    const addressesOf = (host: string) => addresses.get(host) ?? [];
    const icn = kind.generates.icnStatus(checked.spec, addressesOf);
    const children = kind.generates.children(checked.spec, addressesOf);
    if ('message' in children) {
      const message = `${children.path}: ${children.message}`;
      return { ...unchanged, icn, again, problem: problem ?? passing(message) };
    }
    const plan = planChildren(
      parent.rule.name,
      children,
      offspring.of(parent.rule.uid),
      new Set(unknown.keys()),
    );
    const written = await write(parent, plan, signal);
    const [silence] = unknown.values();
    return {
      total: children.length + plan.waiting.length,
      icn,
      problem: written.problem ?? problem ?? (plan.waiting.length > 0 ? silence : undefined),
      again: written.failed === undefined ? again : { failed: written.failed },
    };
  };

  const resolve = async (hosts: readonly { path: string; name: string }[], signal: AbortSignal) => {
    const addresses = new Map<string, readonly string[]>();
    const unknown = new Map<Family, GeneratorProblem>();
    let againInMs = Infinity;
    let problem: GeneratorProblem | undefined;
    for (const { path, name } of hosts) {
      const entry = await deps.addresses.get(name, signal);
      againInMs = Math.min(againInMs, entry.againInMs);
      if (entry.addresses) addresses.set(name, entry.addresses);
      if (entry.unknown !== undefined)
        unknown.set(entry.unknown, passing(`${path}: ${notAnswered(name, entry.unknown)}`));
      if (entry.problem === undefined) continue;
      const kept = entry.addresses ? '; its last addresses stay in force' : '';
      problem ??= passing(`${path}: ${entry.problem}${kept}`);
    }
    const complete = hosts.every(({ name }) => addresses.has(name));
    return { addresses: complete ? addresses : undefined, unknown, againInMs, problem };
  };

  const write = async (
    parent: RuleVersion,
    plan: Plan,
    signal: AbortSignal,
  ): Promise<{ problem: GeneratorProblem | undefined; failed?: string }> => {
    try {
      const { taken, again } = await writeChildren(client, parent, plan, signal);
      if (taken.length === 0) return { problem: undefined, ...(again && OVERTAKEN) };
      const message = `${taken.join(', ')} exists already and was not generated from this ${parent.object.kind}`;
      return { problem: stalled('NameTaken', message), failed: 'NameTaken' };
    } catch (error) {
      if (!isInvalid(error) && !isForbidden(error)) throw error;
      return { problem: stalled('ChildRefused', messageOf(error)) };
    }
  };

  /** Milliseconds until something is to be told of it. */
  const say = async (
    parent: RuleVersion,
    brought: Brought,
    offspring: Offspring,
    signal: AbortSignal,
  ): Promise<number | undefined> => {
    const { resource, object, rule } = parent;
    const { problem, total, icn } = brought;
    const status = generatorStatus({
      parent: rule,
      problem,
      total,
      icn,
      children: offspring.of(rule.uid).filter(isStaying),
      now: clock.now(),
    });
    const { event, inMs } = waiting.look(rule.uid, status, clock.monotonic());
    if (event) deps.record({ object, ...event });
    if (isDeepStrictEqual(status, object.status)) return inMs;
    try {
      const fence = { client, resource, object };
      parents.learn(await replaceStatus(fence, status, { signal }));
    } catch (error) {
      // The watch brings the version that was in the way, and marks it.
      ignoreChanges(error);
      return inMs;
    }
    const { kind, namespace, name } = rule;
    for (const said of announcer.announcements(rule.uid, rule.status, status))
      deps.record({ object, ...said });
    log.info(
      { rule: `${kind} ${namespace}/${name}`, reason: status.message },
      'status of generated rules changed',
    );
    return inMs;
  };

  const controller = createController({
    ...deps,
    name: 'children',
    sources: [parents],
    // Children that are not known yet would be made twice, or be taken for gone.
    world: () => (deps.rules.unknown.size > 0 ? undefined : all),
    markAll: () => {
      for (const uid of parents.uids()) controller.mark(uid);
    },
    reconcile,
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
    fieldsOf: (uid) => {
      const rule = parents.get(uid)?.rule;
      return { uid, rule: rule && `${rule.kind} ${rule.namespace}/${rule.name}` };
    },
  });

  return {
    onRule: (uid) => {
      for (const parent of all.note(uid)) controller.mark(parent);
    },
    run: controller.run,
  };
};

const NO_PURPOSE = sentenceOf('NoPurpose');

const stalled = (reason: GeneratorProblem['reason'], message: string): GeneratorProblem => ({
  reason,
  message,
  stalled: true,
});

const passing = (message: string): GeneratorProblem => ({
  reason: 'NotResolved',
  message,
  stalled: false,
});

const notAnswered = (name: string, family: Family): string =>
  `the DNS does not answer for IPv${family} addresses of ${name}; the rules of its last addresses stay in force`;

const isStaying = ({ metadata }: RuleObject): boolean => metadata.deletionTimestamp === undefined;

const ignoreChanges = (error: unknown): void => {
  if (!isConflict(error) && !isNotFound(error)) throw error;
};
