/** What goes into a support bundle, as far as the user may see it. */
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { stringify } from 'yaml';
import {
  objectSchema,
  resourceV1,
  type ResourceType,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { AGENT_CONTAINER, PURPOSE_LABEL } from '#shared/names.ts';
import { INSPECT_PORT } from '#shared/protocol/inspection.ts';
import { createRedaction } from '#shared/protocol/redaction.ts';
import { resources } from '#shared/resources/resources.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { podResource } from '../../sources/workload.ts';
import { inspectAgent, kernelRules, metricsOf, type PodName } from '../agents/ask.ts';
import type { Cluster } from '../cluster/connect.ts';
import { createLook } from '../cluster/lists.ts';
import { rightsOf } from '../../views/rights.ts';
import { COORDINATORS } from '../dashboard/find.ts';
import { secretsIn, shownLine, shownObject, valuesOfSecret } from '../../views/shown-object.ts';

/** `what`: in words, for the list of contents. */
export type BundleFile = { path: string; what: string; text: string };
export type Bundle = {
  files: readonly BundleFile[];
  missing: readonly string[];
  /** Shows what else goes into it. */
  shownText: (text: string) => string;
};

export type CollectDeps = {
  cluster: Cluster;
  /** Undefined: all. */
  namespace: string | undefined;
  tailLines: number;
  signal: AbortSignal;
};

const events = resourceV1('', 'events', 'Event');
const secrets = resourceV1('', 'secrets', 'Secret');
/** Its own default, which its manifest keeps. */
const COORDINATOR_PORT = 9_465;
const COORDINATOR_CONTAINER = 'coordinator';

/**
 * One pod at a time: agents answer one question at a time anyway, and a thousand port-forwards at
 * once would be no faster.
 */
export const collect = async (deps: CollectDeps): Promise<Bundle> => {
  const { cluster, namespace } = deps;
  const look = createCollector(deps);
  const kinds = await Promise.all(
    resources.map(async ({ group, version, plural, kind }) => ({
      plural,
      objects: await look.list(
        { group, version, plural, kind, schema: objectSchema },
        { namespace },
      ),
    })),
  );
  const [cnfPods, coordinators, seenEvents, seenSecrets] = await Promise.all([
    look.list(podResource, { namespace, labelSelector: PURPOSE_LABEL }),
    look.list(podResource, { namespace: undefined, labelSelector: COORDINATORS }),
    look.list(events, { namespace }),
    look.list(secrets, { namespace }),
  ]);
  const redaction = createRedaction();
  for (const one of [...kinds.flatMap(({ objects }) => objects), ...cnfPods])
    redaction.add(secretsIn(one));
  for (const one of seenSecrets) redaction.add(valuesOfSecret(one));
  const files: BundleFile[] = [];
  const add = (path: string, what: string, text: string): void => {
    if (text !== '') files.push({ path, what, text });
  };
  const yaml = (objects: readonly unknown[]): string =>
    objects.length === 0 ? '' : stringify(objects, { lineWidth: 0, aliasDuplicateObjects: false });
  for (const { plural, objects } of kinds)
    add(
      `rules/${plural}.yaml`,
      `all ${plural}, with their statuses`,
      yaml(objects.map((one) => shownObject(one, redaction))),
    );
  add('events.yaml', 'Events', yaml(seenEvents.map((one) => shownObject(one, redaction))));
  add('pods.yaml', 'pods of CNFs', yaml(cnfPods.map((one) => shownObject(one, redaction))));
  const log = async (pod: PodName, container: string): Promise<void> => {
    const lines = await look.ask(pod, 'log', () => linesOf(deps, pod, container));
    const text = lines?.map((line) => `${shownLine(line, redaction)}\n`).join('') ?? '';
    add(`${folderOf(pod)}/${container}.log`, `log of ${pod.name}`, text);
  };
  const metrics = async (pod: PodName, port: number): Promise<void> => {
    const text = await look.ask(pod, 'metrics', () => metricsOf(cluster, pod, port, deps.signal));
    add(`${folderOf(pod)}/metrics.txt`, `metrics of ${pod.name}`, redaction.text(text ?? ''));
  };
  for (const { metadata } of coordinators) {
    await log(metadata, COORDINATOR_CONTAINER);
    await metrics(metadata, COORDINATOR_PORT);
  }
  for (const { metadata: pod } of cnfPods) {
    await log(pod, AGENT_CONTAINER);
    const answer = await look.ask(pod, 'answer', () => inspectAgent(cluster, pod, deps.signal));
    const json = answer && JSON.stringify(redaction.json(answer), null, 1);
    add(`${folderOf(pod)}/inspect.json`, `what the agent of ${pod.name} answers`, json ?? '');
    const kernel = await look.ask(pod, 'kernel', () => kernelRules(cluster, pod, deps.signal));
    const rules = kernel && ('text' in kernel ? kernel.text : `${kernel.unread}\n`);
    add(
      `${folderOf(pod)}/kernel.txt`,
      `rules in the kernel of ${pod.name}`,
      redaction.text(rules ?? ''),
    );
    await metrics(pod, INSPECT_PORT);
  }
  return { files, missing: look.missing(), shownText: redaction.text };
};

const folderOf = ({ namespace, name }: PodName): string => `pods/${namespace}/${name}`;

/** Reads what may be seen, and keeps what could not be had. */
const createCollector = ({ cluster: { client }, signal }: CollectDeps) => {
  const look = createLook({ client, signal });
  const failed = new Set<string>();
  return {
    list: async (
      type: ResourceType,
      selection: { namespace: string | undefined; labelSelector?: string },
    ): Promise<RuleObject[]> => (await look.list(type, selection)) ?? [],
    /** Undefined when it could not be had. */
    ask: async <T>(
      { name }: PodName,
      what: string,
      ask: () => Promise<T>,
    ): Promise<T | undefined> => {
      try {
        return await ask();
      } catch (error) {
        signal.throwIfAborted();
        failed.add(`${what} of ${name}: ${messageOf(error)}`);
        return undefined;
      }
    },
    missing: (): string[] => [...rightsOf(look.lacking), ...failed],
  };
};

const linesOf = async (
  { cluster: { client }, tailLines, signal }: CollectDeps,
  pod: PodName,
  container: string,
): Promise<string[]> => {
  const lines: string[] = [];
  const chunks = await client.logs(pod, { container, tailLines, signal });
  for await (const line of createInterface({ input: Readable.from(chunks) })) lines.push(line);
  return lines;
};
