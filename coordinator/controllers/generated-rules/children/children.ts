/**
 * Watches CRs that make others, and all rules for their children; owns those children; writes them
 * and the status of the CR. Host names are looked up here. The garbage collector removes what a
 * deleted CR made.
 */
import { isDeepStrictEqual } from 'node:util';
import { sentenceOf } from '#shared/protocol/reasons.ts';
import type { GeneratorStatus } from '#shared/protocol/generator-status.ts';
import { checkSpec } from '#shared/compile/check.ts';
import { againIn, type Outcome } from '#shared/kube/controller.ts';
import { isOutdated } from '#shared/kube/errors.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { isManaged, type RuleObject } from '#shared/kube/objects.ts';
import { isControlledBy } from '#shared/kube/owned.ts';
import { ICN_FINALIZERS, SERVICE_UID_LABEL } from '#shared/names.ts';
import type { Generation, Host } from '#shared/resources/generation.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { Announcer, Waiting } from '../../rules/events.ts';
import { removeOurFinalizers } from '../../rules/finalizer.ts';
import { Rules, type RuleVersion } from '../../../sources/rules.ts';
import { createGenerator, type Generator, type GeneratorDeps } from '../generator.ts';
import { isStaying, NameTakenError, type Refusal, type Whose } from '../write.ts';
import type { AddressBook, Entry } from './address-book.ts';
import { generatorStatus, type GeneratorProblem } from './status.ts';
import { stalled, wantedChildren, type WantedChildren } from './wanted.ts';

export type ChildrenDeps = GeneratorDeps & { addresses: Pick<AddressBook, 'get'> };

type AskedOfParent = WantedChildren & { parent: RuleVersion };

export const createChildren = (deps: ChildrenDeps): Generator => {
  const { client, clock, log, rules } = deps;
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
    onChange: (uid) => generator.mark(uid, 0),
  });
  const announcer = new Announcer();
  const waiting = new Waiting();

  const ask = async (
    uid: string,
    present: readonly RuleObject[],
    signal: AbortSignal,
  ): Promise<AskedOfParent | undefined> => {
    const parent = parents.get(uid);
    const kind = parent && generating.get(parent.object.kind);
    if (!parent || !kind) {
      waiting.forget(uid);
      announcer.forget(uid);
      return undefined;
    }
    if (parent.rule.deletedAt !== undefined) {
      await removeOurFinalizers(client, parent, signal).catch(ignoreOutdated);
      return undefined;
    }
    const spec = specOf(parent, kind);
    if ('problem' in spec)
      return { ...spec, parent, changes: [], total: present.length, icn: {}, againInMs: Infinity };
    const { namespace } = parent.object.metadata;
    const onAnswer = (): void => generator.mark(uid, 0);
    const named = spec.generates.hosts(spec.spec);
    const hosts = named.flatMap((host): (Host & Entry)[] => {
      const entry = deps.addresses.get(host.name, { namespace, onAnswer, signal });
      return entry ? [{ ...host, ...entry }] : [];
    });
    // The first answer marks it again.
    if (hosts.length < named.length) return undefined;
    return { parent, ...wantedChildren({ ...spec, parent: parent.object, hosts, present }) };
  };

  const tell = async (
    uid: string,
    { parent, problem, total, icn, againInMs }: AskedOfParent,
    { refusals, present }: { refusals: readonly Refusal[]; present: readonly RuleObject[] },
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const refused = refusalOf(parent, refusals);
    const status = generatorStatus({
      parent: parent.rule,
      problem: refused ?? problem,
      total,
      icn,
      children: present.filter(isStaying),
      now: clock.now(),
    });
    const { event, inMs = Infinity } = waiting.look(uid, status, clock.monotonic());
    if (event) deps.record({ object: parent.object, ...event });
    await write(parent, status, signal).catch(ignoreOutdated);
    return refused ? { failed: refused.reason } : againIn(Math.min(inMs, againInMs));
  };

  const write = async (
    { resource, object, rule }: RuleVersion,
    status: GeneratorStatus,
    signal: AbortSignal,
  ): Promise<void> => {
    if (isDeepStrictEqual(status, object.status)) return;
    parents.learn(await replaceStatus({ client, resource, object }, status, { signal }));
    for (const said of announcer.announcements(rule.uid, rule.status, status))
      deps.record({ object, ...said });
    const { kind, namespace, name } = rule;
    log.info(
      { rule: `${kind} ${namespace}/${name}`, reason: status.message },
      'status of generated rules changed',
    );
  };

  const generator = createGenerator<AskedOfParent>(deps, {
    name: 'children',
    sources: [parents],
    sourcesOf: ({ metadata }) =>
      (metadata.ownerReferences ?? []).filter((owner) => owner.controller).map(({ uid }) => uid),
    keys: () => parents.uids(),
    groupOf: (uid) => parents.get(uid)?.object.metadata.namespace ?? '',
    isKnown: () => rules.unknown.size === 0,
    ask,
    whose: (there, uid) => whoseIs(there, parents.get(uid)?.object),
    tell,
  });
  return generator;
};

const specOf = (
  { object, rule }: RuleVersion,
  kind: KindDefinition,
): { generates: Generation<unknown>; spec: unknown } | { problem: GeneratorProblem } => {
  if (!kind.generates || rule.purpose === undefined)
    return { problem: stalled('NoPurpose', sentenceOf('NoPurpose')) };
  const checked = checkSpec(kind, object.spec);
  return 'problem' in checked
    ? { problem: stalled('InvalidSpec', checked.problem.message) }
    : { generates: kind.generates, spec: checked.spec };
};

const refusalOf = (
  { object: { kind } }: RuleVersion,
  refusals: readonly Refusal[],
): GeneratorProblem | undefined => {
  const taken = refusals.filter(({ error }) => error instanceof NameTakenError);
  const names = taken.map(
    ({ change }) => `${change.resource.kind} ${change.wanted?.metadata.name}`,
  );
  if (names.length > 0)
    return stalled(
      'NameTaken',
      `${names.join(', ')} exists already and was not generated from this ${kind}`,
    );
  return refusals[0] && stalled('ChildRefused', messageOf(refusals[0].error));
};

/**
 * ICN's controller knew no owners, but left its finalizers on what it made, and on the CR that it
 * made it of. What was made of a CR that was deleted with `--cascade=orphan` has lost its owner;
 * what is made of Services never has one.
 */
const whoseIs = (there: RuleObject, parent: RuleObject | undefined): Whose => {
  if (isControlledBy(there, parent)) return 'ours';
  const { labels, ownerReferences = [] } = there.metadata;
  const isOrphan = isManaged(there) && labels?.[SERVICE_UID_LABEL] === undefined;
  const isIcns = [there, parent].every((each) =>
    each?.metadata.finalizers?.some((name) => ICN_FINALIZERS.includes(name)),
  );
  return (isOrphan || isIcns) && ownerReferences.length === 0 ? 'to be adopted' : 'others';
};

/** The watch brings the version that was in the way, and marks it. */
const ignoreOutdated = (error: unknown): void => {
  if (!isOutdated(error)) throw error;
};
