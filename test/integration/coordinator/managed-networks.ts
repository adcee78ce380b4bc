/**
 * Managed networks on the real API server, with scheduler and controllers, and nodes of which no
 * kubelet runs anything.
 */
import { expect } from 'vitest';
import * as z from 'zod';
import { objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { NFN_NETWORK_ANNOTATION, PORTS_GATE } from '#shared/names.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import {
  networkPortResource,
  type NetworkPort,
} from '#shared/resources/other-kinds/network-port.ts';
import { jsonIn } from '#shared/util/json.ts';
import { managedNetwork } from '../../stack/managed-network.ts';
import { createFixture, type Fixture } from '../admission/fixture.ts';
import { eventually } from '../support/eventually.ts';

const HEARTBEAT_MS = 5_000;

export type Fields = Readonly<Record<string, unknown>>;

export const nodus = (...names: string[]): Record<string, string> => ({
  [NFN_NETWORK_ANNOTATION]: JSON.stringify({
    type: 'ovn4nfv',
    interface: names.map((name, at) => ({ name, interface: `net${at}` })),
  }),
});
export const GATED = { schedulingGates: [{ name: PORTS_GATE }] };
export const podSpec = (some: Fields = {}): object => ({
  tolerations: [{ operator: 'Exists' }],
  containers: [{ name: 'c', image: 'none' }],
  ...some,
});
export const FORCED = ['--force', '--grace-period=0', '--wait=false'];

const seenSchema = objectSchema.extend({
  spec: z.looseObject({
    nodeName: z.string().optional(),
    schedulingGates: z.array(z.looseObject({ name: z.string() })).optional(),
  }),
  status: z.looseObject({ phase: z.string().optional() }).optional(),
});
export type Seen = z.infer<typeof seenSchema>;
export const seenPods = resourceV1('', 'pods', 'Pod', seenSchema);

const nodusSchema = z.looseObject({
  interface: z.array(
    z.looseObject({ ipAddress: z.string().optional(), macAddress: z.string().optional() }),
  ),
});
export const entriesOf = ({ metadata }: Pick<KubeObject, 'metadata'>) =>
  nodusSchema.parse(jsonIn(metadata.annotations?.[NFN_NETWORK_ANNOTATION] ?? '{"interface":[]}'))
    .interface;
export const addressesOf = (of: Pick<KubeObject, 'metadata'>): string[] =>
  entriesOf(of).flatMap(({ ipAddress }) => ipAddress ?? []);

export type ManagedNetworks = Awaited<ReturnType<typeof createManagedNetworks>>;

/** `nodes`: their names. `env`: of the coordinator, beside what it needs. */
export const createManagedNetworks = async (
  nodes: readonly string[],
  env: Record<string, string> = {},
) => {
  const fixture: Fixture = await createFixture({ POD_NAME: 'coordinator-a', ...env });
  const { client, kubectl, systemNamespace } = fixture;

  const bind = async (where: string): Promise<void> => {
    const role = `--clusterrole=sdewan-network-ports-${systemNamespace}`;
    const account = `--serviceaccount=${systemNamespace}:sdewan-coordinator`;
    const made = await kubectl('create', 'rolebinding', 'ports', '-n', where, role, account);
    expect(made).toMatchObject({ code: 0 });
  };
  const applied = async (...objects: object[]): Promise<void> => {
    expect(await fixture.apply(objects)).toMatchObject({ code: 0 });
  };
  const beat = async (name: string, status = 'True'): Promise<void> => {
    const lastHeartbeatTime = new Date().toISOString();
    const resources = { cpu: '64', memory: '64Gi', pods: '500' };
    const body = {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: 'Ready', status, reason: 'Test', message: '', lastHeartbeatTime }],
    };
    const patch = JSON.stringify({ status: body });
    await kubectl('patch', 'node', name, '--subresource=status', '--type=merge', '-p', patch);
  };
  const silent = new Set<string>();
  for (const name of nodes) {
    const labels = { 'kubernetes.io/hostname': name };
    await applied({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
    await beat(name);
  }
  const beatAll = () => Promise.all(nodes.filter((name) => !silent.has(name)).map((n) => beat(n)));
  const heartbeat = setInterval(() => void beatAll(), HEARTBEAT_MS);
  const namespace = await fixture.createNamespace();
  await bind(namespace);

  const network = (name: string, third: number, size: number, spec: Fields = {}): object =>
    managedNetwork(name, {
      names: [`net-${name}`],
      subnets: [
        {
          cidr: `10.${third}.0.0/16`,
          gateway: `10.${third}.0.1`,
          ranges: [`10.${third}.0.10-10.${third}.0.${9 + size}`],
        },
        {
          cidr: `fd00:${third}::/64`,
          ranges: [`fd00:${third}::a-fd00:${third}::${(9 + size).toString(16)}`],
        },
      ],
      namespaces: [namespace],
      ...spec,
    });
  const statusOf = async (name: string) =>
    (await client.get(managedNetworkResource, { name })).status;
  const isReady = async (name: string): Promise<boolean> =>
    (await statusOf(name))?.conditions?.some(
      ({ type, status }) => type === 'Adopted' && status === 'True',
    ) ?? false;
  const portsOf = async (name: string): Promise<NetworkPort[]> =>
    (await client.list(networkPortResource)).items.filter(({ spec }) => spec.network === name);

  return {
    fixture,
    namespace,
    bind,
    applied,
    network,
    statusOf,
    portsOf,
    /** It answers no more. */
    silence: async (name: string): Promise<void> => {
      silent.add(name);
      await beat(name, 'Unknown');
    },
    ready: async (name: string, third: number, size: number, spec: Fields = {}): Promise<void> => {
      await applied(network(name, third, size, spec));
      await eventually(() => isReady(name)).toBe(true);
    },
    seen: async (name: string, where = namespace): Promise<Seen> =>
      await client.get(seenPods, { namespace: where, name }),
    claimedOf: async (name: string): Promise<string[]> =>
      (await portsOf(name))
        .filter(({ status }) => status?.releasedAt === undefined)
        .map(({ spec }) => `${spec.claim.pod} ${spec.addresses.join(' ')}`)
        .sort(),
    eventsOf: async (name: string, where = namespace): Promise<string> => {
      const field = `involvedObject.name=${name}`;
      return (await kubectl('get', 'events', '-n', where, '--field-selector', field)).stdout;
    },
    close: async (): Promise<void> => {
      clearInterval(heartbeat);
      for (const kind of ['managednetworks', 'networkports', 'node'])
        await kubectl('delete', kind, ...(kind === 'node' ? nodes : ['--all']));
      await fixture.close();
    },
  };
};
