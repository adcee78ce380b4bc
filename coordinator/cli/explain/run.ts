import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden } from '#shared/kube/errors.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { withCluster } from '../cluster/connect.ts';
import { gather, rightsOf } from '../cluster/facts.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { CannotTellError, EXIT, type CommandIo, type Run } from '../command.ts';
import { formatSchema, formatted } from '../output/format.ts';
import { unseen } from '../status/answer.ts';
import { parseTarget, ruleNamed } from './target.ts';
import { explanationOf, explanationText, type SeenEvent } from './view.ts';

const events = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  schema: objectSchema.extend({
    type: z.string().default(''),
    reason: z.string().default(''),
    message: z.string().default(''),
    count: z.int().nullish(),
    lastTimestamp: z.string().nullish(),
    eventTime: z.string().nullish(),
  }),
} satisfies ResourceType;

export const runExplain: Run = ({ args: [text = ''], options }, io, signal) => {
  const target = parseTarget(text);
  return withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const { output } = formatSchema.parse(options);
    const namespace = namespaceOf(options, usual);
    const facts = await gather(client, { namespace, withPods: true }, signal);
    const hidden = facts.lacking.find(({ resource }) =>
      resource.startsWith(`${target.kind.plural}.`),
    );
    if (hidden) throw new CannotTellError(rightsOf([hidden]).join('; '));
    const rule = ruleNamed(facts.rules, target);
    const view = explanationOf(rule, facts, await eventsOf(rule, client, { io, signal }));
    io.out(formatted(output, { data: view, table: () => explanationText(view, Date.now()) }));
    for (const line of unseen({
      notSeen: rightsOf(facts.lacking),
      absentKinds: [...facts.absent],
    }))
      io.say(line);
    return view.rule.state === 'InSync' ? EXIT.done : EXIT.no;
  });
};

/** Oldest first; none where they may not be seen. */
const eventsOf = async (
  { metadata: { namespace, uid } }: RuleObject,
  client: KubeClient,
  { io, signal }: { io: CommandIo; signal: AbortSignal },
): Promise<SeenEvent[]> => {
  try {
    const fieldSelector = `involvedObject.uid=${uid}`;
    const { items } = await client.list(events, { namespace, fieldSelector, signal });
    return items
      .map(({ type, reason, message, count, lastTimestamp, eventTime }) => {
        const last = lastTimestamp ?? eventTime;
        return { type, reason, message, count: count ?? 1, ...(last && { last }) };
      })
      .sort((a, b) => (a.last ?? '').localeCompare(b.last ?? ''));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    for (const line of rightsOf([{ verb: 'list', resource: 'events', namespace }])) io.say(line);
    return [];
  }
};
