/**
 * The real Multus on the real node, built of its own sources once, into the cache beside the
 * control plane. It attaches the pods of its own RuntimeClass, and no others of the node.
 */
import path from 'node:path';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';
import type { NodeCluster } from './cluster.ts';

const MULTUS: GoProgram = {
  name: 'multus',
  sources: path.resolve(import.meta.dirname, 'multus'),
  package: 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus',
  binary: 'multus',
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds: 135,
};

/** The RuntimeClass of pods that it attaches. */
export const MULTUS_CLASS = 'multus';

const GROUP = 'k8s.cni.cncf.io';

/** What Multus reads in the API server: what all installations of it have. */
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `network-attachment-definitions.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: {
      plural: 'network-attachment-definitions',
      singular: 'network-attachment-definition',
      kind: 'NetworkAttachmentDefinition',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { config: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};
const RUNTIME_CLASS = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: MULTUS_CLASS },
  handler: 'other-cni',
};

/** Takes a minute the first time. */
export const buildMultus = (): Promise<string> => buildGoProgram(MULTUS, { say: console.log });

export const installMultus = async (cluster: NodeCluster): Promise<void> => {
  const program = await buildMultus();
  await cluster.node.addCniPlugin(program, (pods) => ({
    cniVersion: '0.4.0',
    name: 'multus',
    // 4.3.0 takes no address back of a `clusterNetwork` that is a file.
    plugins: [{ type: 'multus', kubeconfig: cluster.kubeconfig, delegates: [pods] }],
  }));
  const list = { apiVersion: 'v1', kind: 'List', items: [DEFINITION, RUNTIME_CLASS] };
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) });
  const established = ['--for=condition=Established', `crd/${DEFINITION.metadata.name}`];
  await cluster.kubectl(['wait', ...established]);
};

/** A bridge on the node, to which pods are attached with the addresses that they select. */
export const attachment = (name: string, bridge: string): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'NetworkAttachmentDefinition',
  metadata: { name },
  spec: {
    config: JSON.stringify({
      cniVersion: '0.4.0',
      name: bridge,
      plugins: [{ type: 'bridge', bridge, capabilities: { ips: true }, ipam: { type: 'static' } }],
    }),
  },
});
