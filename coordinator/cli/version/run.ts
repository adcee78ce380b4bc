import * as z from 'zod';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { deployments } from '../cluster/deployments.ts';
import { gather } from '../cluster/facts.ts';
import { createLook } from '../cluster/lists.ts';
import { rightsOf } from '../../views/rights.ts';
import { namespaceOf } from '../cluster/scope.ts';
import { EXIT, type CommandIo, type ExitCode, type Run } from '../command.ts';
import { formatSchema, print } from '../../views/output/format.ts';
import { VERSION } from '#shared/own-version.ts';
import { CODES } from '../status/answer.ts';
import { PART_OF } from '../uninstall/found.ts';
import { versionText, versionViewOf, type Sides } from './view.ts';

const optionsSchema = formatSchema.extend({ client: z.boolean().default(false) });

export const runVersion: Run = async ({ options }, io, signal) => {
  const { client, output } = optionsSchema.parse(options);
  const answer = (sides: Sides): ExitCode => {
    const view = versionViewOf(sides);
    print(io, output, { data: view, table: () => versionText(view) });
    if (client) return EXIT.done;
    for (const line of view.remarks) io.say(line);
    return CODES[view.fit];
  };
  const alone = { cli: VERSION, coordinators: [], agents: [], absent: [] };
  if (client) return answer(alone);
  try {
    return await withCluster({ options, io }, async (cluster) =>
      answer({
        ...alone,
        ...(await sidesOf(cluster, namespaceOf(options, cluster.namespace), { io, signal })),
      }),
    );
  } catch (error) {
    answer(alone);
    throw error;
  }
};

/** What is lacking is said. @throws KubeError, CannotTellError */
export const sidesOf = async (
  { client }: Cluster,
  namespace: string | undefined,
  { io, signal }: { io: CommandIo; signal: AbortSignal },
): Promise<Omit<Sides, 'cli'>> => {
  const look = createLook({ client, signal });
  const found = (await look.list(deployments, { labelSelector: PART_OF })) ?? [];
  const {
    pods = [],
    absent,
    lacking,
  } = await gather(client, { namespace, withPods: true }, signal);
  const lacked = [...look.lacking, ...lacking.filter(({ resource }) => resource === 'pods')];
  for (const line of rightsOf(lacked)) io.say(line);
  const coordinators = found.flatMap(({ spec }) =>
    spec.template.spec.containers.map(({ image }) => image),
  );
  return { coordinators, agents: pods.flatMap(({ agentImage }) => agentImage ?? []), absent };
};
