import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden } from '#shared/kube/errors.ts';
import { AGENT_CONTAINER } from '#shared/names.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { withCluster } from '../cluster/connect.ts';
import { gather, type CnfPod } from '../cluster/facts.ts';
import { rightsOf } from '../cluster/rights.ts';
import { cnfNamed, namespaceOf } from '../cluster/scope.ts';
import {
  CannotTellError,
  EXIT,
  optionsBy,
  type CommandIo,
  type ExitCode,
  type Run,
} from '../command.ts';
import { byTime, lineOf, type LogLine } from './line.ts';

const numberOf = (option: string) =>
  z.coerce
    .number({ error: `${option} must be a whole number` })
    .int()
    .min(1);

const optionsSchema = z.object({
  follow: z.boolean().default(false),
  tail: numberOf('--tail'),
  since: numberOf('--since').optional(),
  output: z.enum(['text', 'json']),
});
type Options = z.infer<typeof optionsSchema>;

export const runLogs: Run = ({ args: [name = ''], options }, io, signal) =>
  withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const data = optionsBy(optionsSchema, options);
    const namespace = namespaceOf(options, usual);
    const facts = await gather(client, { namespace, withPods: true }, signal);
    cnfNamed(facts, name, namespace);
    if (!facts.pods)
      throw new CannotTellError(
        rightsOf(facts.lacking.filter(({ resource }) => resource === 'pods')).join('; '),
      );
    const pods = facts.pods.filter(
      ({ purpose, agentImage }) => purpose === name && agentImage !== undefined,
    );
    if (pods.length === 0) {
      io.say(`${name}: no pod has an agent`);
      return EXIT.no;
    }
    return data.follow
      ? followAll(client, pods, { ...data, io, signal })
      : printAll(client, pods, { ...data, io, signal });
  });

type Printing = Options & { io: CommandIo; signal: AbortSignal };

/** What can be had is printed; what not is said. */
const printAll = async (
  client: KubeClient,
  pods: readonly CnfPod[],
  printing: Printing,
): Promise<ExitCode> => {
  const read = await Promise.all(
    pods.map(async (pod) => {
      const lines: LogLine[] = [];
      const code = await eachLine(client, pod, printing, (line) => lines.push(line));
      return { lines, code };
    }),
  );
  for (const { text } of byTime(read.map(({ lines }) => lines))) printing.io.out(`${text}\n`);
  return worstOf(read.map(({ code }) => code));
};

/** Until all containers have ended, or the person has. */
const followAll = async (
  client: KubeClient,
  pods: readonly CnfPod[],
  printing: Printing,
): Promise<ExitCode> => {
  const print = ({ text }: LogLine): void => printing.io.out(`${text}\n`);
  return worstOf(await Promise.all(pods.map((pod) => eachLine(client, pod, printing, print))));
};

const worstOf = (codes: readonly ExitCode[]): ExitCode =>
  codes.find((code) => code !== EXIT.done) ?? EXIT.done;

const eachLine = async (
  client: KubeClient,
  { namespace, name }: CnfPod,
  { tail, since, follow, output, io, signal }: Printing,
  onLine: (line: LogLine) => void,
): Promise<ExitCode> => {
  try {
    const chunks = await client.logs(
      { namespace, name },
      { container: AGENT_CONTAINER, tailLines: tail, sinceSeconds: since, follow, signal },
    );
    for await (const raw of createInterface({ input: Readable.from(chunks) })) {
      const line = lineOf(raw, name);
      onLine(output === 'json' ? { ...line, text: raw } : line);
    }
    return EXIT.done;
  } catch (error) {
    if (signal.aborted) return EXIT.done;
    io.say(
      isForbidden(error)
        ? rightsOf([{ verb: 'get', resource: 'pods/log', namespace }]).join('; ')
        : `${name}: ${messageOf(error)}`,
    );
    return EXIT.unknown;
  }
};
