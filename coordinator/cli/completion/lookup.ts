/** Names for completion, from the cluster: what is not there is not worth a message in a line. */
import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { namespaceOf } from '../cluster/scope.ts';
import type { CommandIo } from '../command.ts';
import type { NameLookup } from './complete.ts';
import { own } from '#shared/util/own.ts';
import { cnfsIn } from '../../views/cluster-facts.ts';

/** A user has pressed a key. */
const TIMEOUT_MS = 2_000;

export const clusterLookup =
  (io: CommandIo, signal: AbortSignal): NameLookup =>
  async (argument, options) => {
    try {
      return await withCluster({ options, io, timeoutMs: TIMEOUT_MS }, async (cluster) => {
        const namespace = namespaceOf(options, cluster.namespace);
        const facts = await gather(cluster.client, { namespace }, signal);
        return own(NAMES, argument)?.(facts) ?? [];
      });
    } catch {
      return [];
    }
  };

const NAMES: Readonly<Record<string, (facts: Parameters<typeof cnfsIn>[0]) => string[]>> = {
  cnf: (facts) => [...new Set(cnfsIn(facts).map(({ purpose }) => purpose))],
  'kind/name': ({ rules }) => rules.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
};
