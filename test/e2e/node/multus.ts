/**
 * The real Multus on the real node, and the plugins that it calls, built of their own sources once,
 * into the cache beside the control plane. It attaches the pods of its own RuntimeClass, and no
 * others of the node.
 */
import path from 'node:path';
import { buildGoProgram, type GoProgram } from 'kind-test-harness';
import type { NodeCluster } from './cluster.ts';

const programIn = (folder: string, built: string, coldBuildCoreSeconds: number): GoProgram => ({
  name: folder,
  sources: path.resolve(import.meta.dirname, folder),
  package: built,
  binary: path.basename(built),
  flags: ['-ldflags', '-s -w'],
  coldBuildCoreSeconds,
});
const PLUGINS = 'github.com/containernetworking/plugins/plugins';
const PROGRAMS = [
  programIn('multus', 'gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus', 135),
  programIn('cni-plugins', `${PLUGINS}/main/bridge`, 40),
  programIn('cni-plugins', `${PLUGINS}/ipam/static`, 30),
];

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
export const buildMultus = async (): Promise<string[]> => {
  const built: string[] = [];
  for (const program of PROGRAMS) built.push(await buildGoProgram(program, { say: console.log }));
  return built;
};

export const installMultus = async (cluster: NodeCluster): Promise<void> => {
  for (const program of await buildMultus())
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

/**
 * A bridge on the node, to which pods are attached with what they select: addresses, and where it
 * `takesMac` MACs.
 */
export const attachment = (name: string, bridge: string, takesMac = false): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'NetworkAttachmentDefinition',
  metadata: { name },
  spec: {
    config: JSON.stringify({
      cniVersion: '0.4.0',
      name: bridge,
      plugins: [
        {
          type: 'bridge',
          bridge,
          capabilities: { ips: true, ...(takesMac && { mac: true }) },
          ipam: { type: 'static' },
        },
      ],
    }),
  },
});
