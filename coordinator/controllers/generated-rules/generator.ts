/**
 * What all generators of rules have in common: a source asks for rules, which are its own from then
 * on. Each generator says what a source asks for, and tells people what became of it; which rules a
 * source has, writing them, and when to look again is here and nowhere else.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  createController,
  OVERTAKEN,
  type Controller,
  type ControllerDeps,
  type ControllerOptions,
  type Outcome,
} from '#shared/kube/controller.ts';
import type { RecordedEvent } from '#shared/kube/events.ts';
import { Index } from '#shared/kube/informer/key-index.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { isOvertaken } from '#shared/kube/owned.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import type { Rules } from '../../sources/rules.ts';
import { writeRules, type Refusal, type RuleChange, type Whose } from './write.ts';

export type GeneratorDeps = ControllerDeps & {
  client: KubeClient;
  kinds: readonly KindDefinition[];
  /** The only one to look after; undefined: all. */
  namespace: string | undefined;
  /** Rules that agents apply, those that are made here among them. */
  rules: Pick<Rules, 'get' | 'learn' | 'uids' | 'unknown'>;
  record: (event: RecordedEvent) => void;
};

export type Asked = { changes: readonly RuleChange[] };

export type GeneratorOptions<Ask extends Asked> = Required<
  Pick<ControllerOptions<unknown>, 'name' | 'sources'>
> & {
  /** Keys of the sources whose rule it is, by what it says itself. */
  sourcesOf: (rule: RuleObject) => readonly string[];
  /** All sources, and those of which something may be left over. */
  keys: () => Iterable<string>;
  /** Whose the source is, e.g. its namespace. */
  groupOf: (key: string) => string;
  /** Whether enough is known: else rules would be made twice, and sources be taken for gone. */
  isKnown: () => boolean;
  /**
   * What has to be written. `present`: its rules, those that are being deleted included. Undefined:
   * nothing, or it is not known.
   */
  ask: (
    key: string,
    present: readonly RuleObject[],
    signal: AbortSignal,
  ) => Ask | undefined | Promise<Ask | undefined>;
  /** Default: everything is ours. */
  whose?: (there: RuleObject, key: string) => Whose;
  /** Tells people what became of it. The outcome, unless overtaken. Default: `done` or an error. */
  tell?: (
    key: string,
    asked: Ask,
    result: { refusals: readonly Refusal[]; present: readonly RuleObject[] },
    signal: AbortSignal,
  ) => Outcome | Promise<Outcome>;
};

export type Generator = Pick<Controller, 'mark' | 'run'> & {
  /** A rule came, went or changed. */
  onRule: (uid: string) => void;
};

/** What comes together, e.g. the statuses of several rules, is looked at once. */
const COALESCE_MS = 100;
const CONCURRENCY = 8;

export const createGenerator = <Ask extends Asked>(
  deps: GeneratorDeps,
  options: GeneratorOptions<Ask>,
): Generator => {
  const { client, log, rules } = deps;
  const { ask, name, sources, tell = throwRefusal, whose = () => 'ours' } = options;
  const owned = new Index();
  const rulesOf = (key: string): RuleObject[] =>
    [...owned.ids(key)].flatMap((uid) => rules.get(uid)?.object ?? []);

  const reconcile = async (key: string, _: true, signal: AbortSignal): Promise<Outcome> => {
    const asked = await ask(key, rulesOf(key), signal);
    if (asked === undefined) return 'done';
    const { kept, refusals } = await writeRules(asked.changes, {
      client,
      whose: (there) => whose(there, key),
      signal,
    });
    for (const { object, outcome, rule } of kept) {
      if (outcome === 'unchanged') continue;
      if (object) rules.learn(object);
      log.info({ controller: name, rule, outcome }, 'generated rule written');
    }
    const outcome = await tell(key, asked, { refusals, present: rulesOf(key) }, signal);
    return kept.some((each) => isOvertaken(each.outcome)) ? OVERTAKEN : outcome;
  };

  const controller = createController<true>({
    ...deps,
    name,
    sources,
    facts: () => options.isKnown() || undefined,
    markAll: () => {
      for (const key of options.keys()) controller.mark(key);
    },
    reconcile,
    groupOf: options.groupOf,
    fieldsOf: (source) => ({ source }),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
  });

  return {
    ...controller,
    onRule: (uid) => {
      const object = rules.get(uid)?.object;
      const before = owned.keysOf(uid);
      owned.set(uid, object ? options.sourcesOf(object) : []);
      for (const key of new Set([...before, ...owned.keysOf(uid)])) controller.mark(key);
    },
  };
};

const throwRefusal: NonNullable<GeneratorOptions<Asked>['tell']> = (_key, _asked, { refusals }) => {
  if (refusals[0]) throw refusals[0].error;
  return 'done';
};
