/** `sdewan check`: what works now and will be refused by a later release. Changes nothing. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { createKubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { kinds } from '#shared/resources/registry.ts';
import { rbacResources, roleSchema } from '../../admission/buckets/bindings.ts';
import { EXIT, type Command } from '../command.ts';
import { lackingRoles } from './roles.ts';

export const runCheck: Command = async (args, { env, out, say }, signal) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: 'string' },
      'bucket-types': { type: 'string', default: 'basic,app-intent,k8s-service' },
    },
  });
  const config = await loadKubeConfig({
    kubeconfig: values.kubeconfig ?? env['KUBECONFIG'] ?? join(homedir(), '.kube/config'),
  });
  const client = createKubeClient({ config, userAgent: 'sdewan-cli' });
  try {
    const { roles, clusterRoles } = rbacResources;
    const lists = await Promise.all(
      [roles, clusterRoles].map(async (resource) => {
        const { items } = await client.list(resource, { signal });
        return z
          .array(roleSchema)
          .parse(items)
          .map((role) => ({ kind: resource.kind, role }));
      }),
    );
    const types = values['bucket-types'].split(',').map((type) => type.trim());
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
    return lacking.length === 0 ? EXIT.done : EXIT.refused;
  } finally {
    await client.close();
  }
};
