import type { KubeClient } from '#shared/kube/client.ts';
import { isConflict, isInvalid } from '#shared/kube/errors.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import type { Change } from './change.ts';

type Subject = {
  client: Pick<KubeClient, 'patch'>;
  namespace: string;
  name: string;
  io: Pick<CommandIo, 'out' | 'say'>;
  signal: AbortSignal;
};

/** Each write of a status moves the version that a patch hits, several times in a second. */
const TRIES = 5;

/**
 * Looks, and writes what follows; once more where another client has written meanwhile. `look`:
 * @throws UsageError when there is no such object
 */
export const applyChange = async (
  { client, namespace, name, io, signal }: Subject,
  look: () => Promise<Change>,
  resource: ResourceType<object> = cnfDeploymentResource,
): Promise<ExitCode> => {
  for (let tried = 1; ; tried += 1) {
    const { patch, said } = await look();
    if (!patch) {
      io.say(`${name}: ${said}`);
      return EXIT.no;
    }
    try {
      await client.patch(resource, { namespace, name }, { patch, signal });
    } catch (error) {
      // A failed test of a JSON patch is 422, as is what the API server refuses.
      if (!isConflict(error) && !isInvalid(error)) throw error;
      if (tried < TRIES) continue;
      io.say(`${name}: nothing has changed: ${error.message}`);
      return EXIT.no;
    }
    io.out(`${name}: ${said}\n`);
    return EXIT.done;
  }
};
