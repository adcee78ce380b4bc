/** The nodes of the cluster, of which policies need the addresses. */
import * as z from 'zod';
import { identityOf, objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { Reflector, type ReflectorOptions } from '#shared/kube/informer/reflector.ts';

type WatchedNode = KubeObject & { addresses: readonly string[] };

const nodeResource = resourceV1(
  '',
  'nodes',
  'Node',
  objectSchema
    .extend({
      status: z
        .object({
          addresses: z.array(z.object({ type: z.string(), address: z.string() })).optional(),
        })
        .optional(),
    })
    .transform(({ status, ...object }): WatchedNode => ({
      ...identityOf(object),
      addresses: (status?.addresses ?? [])
        .filter(({ type }) => type === 'InternalIP' || type === 'ExternalIP')
        .map(({ address }) => address),
    })),
);

/** `onChange`: an address is another, or whether they are known. */
export const watchNodes = (
  deps: Pick<ReflectorOptions<WatchedNode>, 'client' | 'clock' | 'log'>,
  onChange: () => void,
): Reflector<WatchedNode> =>
  new Reflector({
    ...deps,
    resource: nodeResource,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || object.addresses.join() !== old.addresses.join()) onChange();
    },
    onState: onChange,
  });
