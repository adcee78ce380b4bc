import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isInvalid, isNotFound, type KubeError } from '#shared/kube/errors.ts';
import type { ResourceType, RuleObject } from '#shared/kube/objects.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { withCluster } from '../cluster/connect.ts';
import { ruleStateOf } from '../../views/rule-state.ts';
import { namespaceOf } from '../cluster/scope.ts';
import {
  EXIT,
  optionsBy,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from '../command.ts';
import { bodyOf, resourceIn, rulesInFiles } from './files.ts';
import { inOrder } from './order.ts';
import { isOfOthers, nameOf, warn } from './refusals.ts';

const INTERVAL_MS = 500;

const optionsSchema = z.object({
  filename: z.array(z.string(), { error: 'specify files: -f FILE, or -f - for standard input' }),
  timeout: z.coerce.number({ error: '--timeout must be a number of seconds' }).min(0),
});

type Work = {
  client: KubeClient;
  io: CommandIo;
  signal: AbortSignal;
  /** A time of `performance.now()`. */
  end: number;
};

export const runApply: Run = (given, io, signal) =>
  onRules(given, io, signal, async (rules, work) => {
    for (const group of inOrder(rules)) {
      const codes = await Promise.all(group.map((rule) => applyOne(rule, work)));
      // What follows refers to what has failed, and would wait in vain.
      if (codes.includes(EXIT.no)) return EXIT.no;
    }
    return EXIT.done;
  });

export const runDelete: Run = (given, io, signal) =>
  onRules(given, io, signal, async (rules, work) => {
    for (const group of inOrder(rules).toReversed()) {
      const codes = await Promise.all(group.map((rule) => deleteOne(rule, work)));
      if (codes.includes(EXIT.no)) return EXIT.no;
    }
    return EXIT.done;
  });

const onRules = async (
  { options }: Given,
  io: CommandIo,
  signal: AbortSignal,
  work: (rules: readonly RuleObject[], deps: Work) => Promise<ExitCode>,
): Promise<ExitCode> => {
  const data = optionsBy(optionsSchema, options);
  return withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const read = await rulesInFiles(data.filename, io, namespaceOf(options, usual) ?? usual);
    if ('code' in read) return read.code;
    const end = performance.now() + data.timeout * 1_000;
    return work(read.rules, { client, io, signal, end });
  });
};

const applyOne = async (rule: RuleObject, work: Work): Promise<ExitCode> => {
  const { client, io, signal } = work;
  const key = { name: rule.metadata.name, namespace: rule.metadata.namespace };
  return untilTaken(rule, work, isInvalid, async () => {
    const patch = { type: 'apply', body: bodyOf(rule) } as const;
    await client.patch(typeOf(rule), key, { patch, signal });
    io.out(`${nameOf(rule)} applied\n`);
    await warn(rule, { client, io, signal });
    return EXIT.done;
  });
};

/** Done when it is gone: what it refers to is refused until then. */
const deleteOne = async (rule: RuleObject, work: Work): Promise<ExitCode> => {
  const { client, io, signal, end } = work;
  const key = { name: rule.metadata.name, namespace: rule.metadata.namespace };
  const asked = await untilTaken(rule, work, isConflict, async () => {
    try {
      await client.delete(typeOf(rule), key, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return EXIT.done;
  });
  if (asked !== EXIT.done) return asked;
  for (;;) {
    const left = await client.get(typeOf(rule), key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (left === undefined) {
      io.out(`${nameOf(rule)} deleted\n`);
      return EXIT.done;
    }
    if (performance.now() >= end) {
      const { reason, cause, cure } = ruleStateOf(left);
      io.say(`${nameOf(rule)}: is still being deleted: ${cause} (${reason})`);
      if (cure !== undefined) io.say(`  cure: ${cure}`);
      return EXIT.no;
    }
    await pause(INTERVAL_MS, undefined, { signal });
  }
};

/** Tries again what the API server may take a little later: webhooks answer from watches. */
const untilTaken = async (
  rule: RuleObject,
  { io, signal, end }: Work,
  mayBeTaken: (error: unknown) => error is KubeError,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> => {
  for (let said = ''; ;)
    try {
      return await work();
    } catch (error) {
      if (!mayBeTaken(error)) throw error;
      const words = messageOf(error);
      if (!isOfOthers(error) || performance.now() >= end) {
        io.say(`${nameOf(rule)}: ${words}`);
        return EXIT.no;
      }
      if (words !== said) io.say(`${nameOf(rule)} waits: ${words}`);
      said = words;
      await pause(INTERVAL_MS, undefined, { signal });
    }
};

const typeOf = (rule: RuleObject): ResourceType => {
  const kind = resourceIn(rule);
  if (!kind) throw new Error(`${rule.kind} is no kind of rule`);
  return kind;
};
