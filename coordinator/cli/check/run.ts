import * as z from 'zod';
import { kinds } from '#shared/resources/registry.ts';
import { rbacResources, roleSchema } from '../../admission/buckets/bindings.ts';
import { withCluster } from '../cluster/connect.ts';
import { EXIT, type Run } from '../command.ts';
import { lackingRoles } from './roles.ts';

const optionsSchema = z.object({ bucketTypes: z.string() });

export const runCheck: Run = async ({ options }, io, signal) => {
  const { bucketTypes } = optionsSchema.parse(options);
  const { out, say } = io;
  const { roles, clusterRoles } = rbacResources;
  const lists = await withCluster({ options, io }, ({ client }) =>
    Promise.all(
      [roles, clusterRoles].map(async (resource) => {
        const { items } = await client.list(resource, { signal });
        return z
          .array(roleSchema)
          .parse(items)
          .map((role) => ({ kind: resource.kind, role }));
      }),
    ),
  );
  const types = bucketTypes.split(',').map((type) => type.trim());
  const lacking = lackingRoles(lists.flat(), {
    plurals: kinds.map(({ plural }) => plural),
    types,
  });
  for (const { role, rules } of lacking) out(`${role}\n${rules.join('\n')}\n`);
  if (lacking.length === 0) say('every role that grants bucket types has the rules for it');
  else
    say(
      `${lacking.length} roles grant bucket types by annotation only, and need these rules (docs/admission.md, Buckets)`,
    );
  return lacking.length === 0 ? EXIT.done : EXIT.no;
};
