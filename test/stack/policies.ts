/**
 * NetworkPolicies end to end: pods that no kubelet runs, what the coordinator makes of policies,
 * and the tables in the kernels of a CNF's pods.
 */
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { until } from './observe.ts';
import { apply } from './operator.ts';
import { policyTableOf } from './simulator.ts';

const enforcement = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({
    policy: z.object({ namespace: z.string(), name: z.string() }),
    place: z.string(),
  }),
  status: z
    .object({
      inSync: z.boolean().optional(),
      message: z.string().optional(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), reason: z.string() }))
        .optional(),
      scope: z.string().optional(),
      selectedPods: z.object({ summary: z.string() }).optional(),
      notEnforced: z
        .array(z.object({ reason: z.string(), examples: z.array(z.string()) }))
        .optional(),
    })
    .default({}),
});
export type Enforcement = z.infer<typeof enforcement>;
const list = z.object({ items: z.array(enforcement) });

export const eventually = (what: string, holds: () => Promise<boolean>): Promise<true> =>
  until(what, async () => ((await holds()) ? true : undefined));

/** A table as the product writes it, of what nft lists. */
export const asWritten = (listing: string): string =>
  listing.replaceAll(/,\n\s+/g, ', ').replaceAll('\t', '  ');

/** `namespace`: of pods, policies and CNFs alike. */
export const policiesIn = (cluster: Cluster, namespace: string) => {
  const path = `/apis/network.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/policyenforcements`;
  const isOf = (name: string, { spec: { policy } }: Enforcement): boolean =>
    policy.name === name && policy.namespace === namespace;
  const enforcements = async (name: string): Promise<Enforcement[]> =>
    list.parse(await cluster.api.find(path)).items.filter((one) => isOf(name, one));
  return {
    /** Those of one policy. */
    enforcements,
    /**
     * A watch for the end of one of them. `at`: when it has shown that, milliseconds since 1970.
     */
    enforcementGone: async (name: string): Promise<{ at: () => number | undefined }> => {
      let at: number | undefined;
      await cluster.api.watch(path, {
        onChange: () => undefined,
        onDelete: (object) => {
          if (isOf(name, enforcement.parse(object))) at ??= Date.now();
        },
      });
      return { at: () => at };
    },
    /** No kubelet runs it: the test says what a kubelet would say of it. */
    pod: async (
      name: string,
      ip: string,
      labels: object,
      annotations: Record<string, string> = {},
    ): Promise<void> => {
      const metadata = { name, labels, annotations };
      const spec = { schedulerName: 'none', containers: [{ name: 'main', image: 'none' }] };
      await apply(cluster, namespace, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
      const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] };
      const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
      await cluster.kubectl(['patch', 'pod', name, '-n', namespace, ...patch]);
    },
    /** It has run to its end. */
    ends: async (pod: string): Promise<void> => {
      const patch = [
        '--subresource=status',
        '--type=merge',
        '-p',
        '{"status": {"phase": "Succeeded"}}',
      ];
      await cluster.kubectl(['patch', 'pod', pod, '-n', namespace, ...patch]);
    },
    relabel: async (pod: string, label: string): Promise<void> => {
      await cluster.kubectl(['label', 'pod', pod, '-n', namespace, '--overwrite', label]);
    },
    /** What stands in the kernel's table for that policy. */
    chainOf: (name: string): string => `comment "${namespace}/${name}"`,
    tableOf: (pod: string): Promise<string> => policyTableOf(cluster, { namespace, pod }),
    isEnforced: async (name: string, summary = '1/1'): Promise<boolean> =>
      (await enforcements(name)).some(({ status }) => status.selectedPods?.summary === summary),
    /** By examples, for the reason. */
    whyNot: async (name: string): Promise<Record<string, string[]>> => {
      const [found] = await enforcements(name);
      return Object.fromEntries(
        (found?.status.notEnforced ?? []).map(({ reason, examples }) => [reason, examples]),
      );
    },
  };
};
