/** The CRDs, as an installation has them. */
import type { Cluster } from 'kind-test-harness';
import { kinds } from '#shared/kinds/registry.ts';

export const applyCrds = async (cluster: Cluster): Promise<void> => {
  const list = {
    apiVersion: 'v1',
    kind: 'List',
    items: kinds.map(({ group, version, plural, singular, kind }) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, singular, kind },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: {
              openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        ],
      },
    })),
  };
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) });
  const names = kinds.map(({ plural, group }) => `crd/${plural}.${group}`);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=20s', ...names]);
};
