/** `sdewan install`: by server-side apply, so that what others have set in these objects stays. */
import { stringify } from 'yaml';
import * as z from 'zod';
import type { ResourceType } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import type { Manifest } from '../../../deploy/installation/kustomization.ts';
import { installedManifests } from '../../../deploy/installation/manifests.ts';
import { withCluster, type Cluster } from '../cluster/connect.ts';
import { EXIT, optionsBy, type CommandIo, type ExitCode, type Run } from '../command.ts';
import {
  clusterKinds,
  coordinatorIsThere,
  coordinatorKinds,
  definitionKinds,
  deploymentKinds,
  namespaceKinds,
  webhookKinds,
} from '../uninstall/found.ts';
import { inOrderOfInstallation, withImages } from './objects.ts';

const optionsSchema = z.object({
  apply: z.boolean().default(false),
  image: z.string().min(1).optional(),
  agentImage: z.string().min(1).optional(),
  timeout: z.coerce.number({ error: '--timeout must be a number of seconds' }).min(0),
});

export const runInstall: Run = async ({ options }, io, signal) => {
  const data = optionsBy(optionsSchema, options);
  const manifests = inOrderOfInstallation(
    installedManifests().map((manifest) => withImages(manifest, data)),
  );
  if (!data.apply) {
    io.out(manifests.map((manifest) => stringify(manifest, AS_TEXT)).join('---\n'));
    return EXIT.done;
  }
  return withCluster({ options, io, timeoutMs: REQUEST_TIMEOUT_MS }, async (cluster) => {
    io.say(`installing in ${cluster.server}`);
    for (const manifest of manifests) await applyOne(cluster, manifest, signal);
    io.say(`${manifests.length} objects applied`);
    return served(cluster, data.timeout * 1_000, { say: io.say, signal });
  });
};

/** People who read it find each object whole. */
const AS_TEXT = { lineWidth: 0, aliasDuplicateObjects: false };
/** A large CRD takes the API server longer than a look. */
const REQUEST_TIMEOUT_MS = 15_000;
const LOOK_INTERVAL_MS = 500;

const resourceOf = ({ kind }: Manifest): ResourceType => {
  const known = [
    ...namespaceKinds,
    ...definitionKinds,
    ...clusterKinds,
    ...coordinatorKinds,
    ...deploymentKinds,
    ...webhookKinds,
  ];
  const found = known.find((one) => one.kind === kind);
  if (!found) throw new Error(`kind ${kind} is none of an installation`);
  return found;
};

const applyOne = async (
  { client }: Cluster,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<void> => {
  const { name, namespace } = manifest.metadata;
  const patch = { type: 'apply', body: manifest } as const;
  await client.patch(resourceOf(manifest), { namespace, name }, { patch, signal });
};

/** As soon as one coordinator does. */
const served = async (
  { client }: Cluster,
  timeoutMs: number,
  { say, signal }: Pick<CommandIo, 'say'> & { signal: AbortSignal },
): Promise<ExitCode> => {
  const until = systemClock.monotonic() + timeoutMs;
  while (!(await coordinatorIsThere({ client, signal }))) {
    if (systemClock.monotonic() >= until) {
      say('no coordinator serves yet; `kubectl describe pods -n sdewan-system` says why');
      return EXIT.no;
    }
    await systemClock.sleep(LOOK_INTERVAL_MS, signal);
  }
  say('the coordinator serves');
  return EXIT.done;
};
