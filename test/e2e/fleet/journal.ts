/** What has ever happened to the configuration of a pod's OpenWRT, as it says itself. */
import type { Cluster } from 'kind-test-harness';
import * as z from 'zod';
import { readUci } from '../../openwrt/checks/uci.ts';
import { askOpenwrt } from './openwrt.ts';

const journalSchema = z.array(
  z.looseObject({
    seq: z.number(),
    ms: z.number(),
    at: z.string(),
    event: z.string(),
    package: z.string().optional(),
    text: z.string().optional(),
  }),
);
export type Journal = z.infer<typeof journalSchema>;

export const journalOf = async (
  cluster: Cluster,
  namespace: string,
  pod: string,
): Promise<Journal> =>
  journalSchema.parse(JSON.parse(await askOpenwrt(cluster, { namespace, pod, path: '/journal' })));

/** States of keepalived's own router of the agent in each text of the package, in their order. */
export const prioritiesIn = (journal: Journal): { ms: number; priority: number }[] =>
  journal
    .filter(({ package: of }) => of === 'keepalived')
    .flatMap(({ ms, text = '' }) =>
      readUci(text)
        .filter(({ type, name }) => type === 'vrrp_instance' && name?.startsWith('sdewan_'))
        .map(({ options }) => ({ ms, priority: Number(options['priority']) })),
    );
