import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { find } from '#shared/kube/owned.ts';
import {
  cnfDeploymentResource,
  type CnfDeployment,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { daemonSets, statefulSets } from '../../sources/workload.ts';
import {
  fleetDeployments,
  fleetReplicaSets,
  type FleetReplicaSet,
} from '../../controllers/fleet/apps.ts';
import { selectorOf } from '../../controllers/fleet/deployment.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { EXIT, optionsBy, type CommandIo, type ExitCode, type Run } from '../command.ts';
import { printText } from '../../views/output/format.ts';
import { ACTIONS, type RolloutAction } from './actions.ts';
import { adopted } from './adopt.ts';
import { applyChange } from './apply-change.ts';
import { paused, promoted, restarted, undone, type Change } from './change.ts';
import { isAtRest, isGivenUp, historyText, statusLines } from './view.ts';
import { NotThereError } from '../../views/usage-error.ts';

const INTERVAL_MS = 1_000;

const optionsSchema = z.object({
  namespace: z.string().optional(),
  timeout: z.coerce.number({ error: '--timeout must be a number of seconds' }).min(0),
  toRevision: z.coerce
    .number({ error: '--to-revision must be a whole number' })
    .int({ error: '--to-revision must be a whole number' })
    .optional(),
});
type Options = z.infer<typeof optionsSchema>;

/** The CNFDeployment that the command is for. */
type Subject = Cluster & { name: string; io: CommandIo; signal: AbortSignal };

export const runRollout: Run = ({ args: [action, name = ''], options }, io, signal) => {
  const data = optionsBy(optionsSchema, options);
  return withCluster({ options, io }, (cluster) => {
    const namespace = data.namespace ?? cluster.namespace;
    return DO[z.enum(ACTIONS).parse(action)]({ ...cluster, namespace, name, io, signal }, data);
  });
};

const status = async (subject: Subject, { timeout }: Options): Promise<ExitCode> => {
  const { io, signal } = subject;
  const end = performance.now() + timeout * 1_000;
  for (let said = ''; ;) {
    const cnf = await read(subject);
    const text = statusLines(cnf, Date.now()).join('\n');
    const isOver = isAtRest(cnf) || isGivenUp(cnf);
    if (isOver || performance.now() >= end) {
      printText(io, `${text}\n`);
      return isAtRest(cnf) ? EXIT.done : EXIT.no;
    }
    // Ages alone are no change.
    const now = statusLines(cnf).join('\n');
    if (now !== said) io.say(text);
    said = now;
    await pause(INTERVAL_MS, undefined, { signal });
  }
};

const history = async (subject: Subject): Promise<ExitCode> => {
  const cnf = await read(subject);
  printText(subject.io, historyText(await setsOf(subject, cnf), cnf, Date.now()));
  return EXIT.done;
};

const undo = async (subject: Subject, { toRevision }: Options): Promise<ExitCode> => {
  const change = async (): Promise<Change> => {
    const cnf = await read(subject);
    return undone(cnf, await setsOf(subject, cnf), toRevision);
  };
  return applyChange(subject, change);
};

const adopt = async (subject: Subject): Promise<ExitCode> => {
  const { client, namespace, name, signal } = subject;
  const key = { namespace, name };
  const change = async (): Promise<Change> => {
    const cnf = await read(subject);
    const present = await find(client, fleetDeployments, key, { signal });
    const others = [];
    for (const resource of present ? [] : [statefulSets, daemonSets])
      if (await find(client, resource, key, { signal })) others.push(resource.kind);
    return adopted(cnf, present, others);
  };
  return applyChange(subject, change, fleetDeployments);
};

const changing =
  (changeOf: (cnf: CnfDeployment) => Change) =>
  async (subject: Subject): Promise<ExitCode> =>
    applyChange(subject, async () => changeOf(await read(subject)));

const DO: Readonly<
  Record<RolloutAction, (subject: Subject, options: Options) => Promise<ExitCode>>
> = {
  status,
  history,
  undo,
  pause: changing((cnf) => paused(cnf, true)),
  resume: changing((cnf) => paused(cnf, false)),
  restart: changing((cnf) => restarted(cnf, Date.now())),
  promote: changing(promoted),
  adopt,
};

/** @throws NotThereError */
const read = async ({ client, namespace, name, signal }: Subject): Promise<CnfDeployment> => {
  const cnf = await find(client, cnfDeploymentResource, { namespace, name }, { signal });
  if (!cnf) throw new NotThereError(`no CNFDeployment ${name} in namespace ${namespace}`);
  return cnf;
};

const setsOf = async (
  { client, signal }: Subject,
  cnf: CnfDeployment,
): Promise<FleetReplicaSet[]> => {
  const { items } = await client.list(fleetReplicaSets, {
    namespace: cnf.metadata.namespace,
    labelSelector: selectorOf(cnf),
    signal,
  });
  const owner = cnf.status?.deployment?.uid;
  return items.filter(({ metadata: { ownerReferences = [] } }) =>
    ownerReferences.some(({ uid, controller }) => controller === true && uid === owner),
  );
};
