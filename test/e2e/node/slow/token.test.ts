/**
 * The agent's token for reports, renewed by the kubelet: with the shortest life that Kubernetes
 * allows it takes eight minutes.
 */
import { describe, expect, it } from 'vitest';
import { createCnf } from '../../../stack/cnf.ts';
import { lookUntil, until } from '../../../stack/observe.ts';
import { apply, waitInSync } from '../../../stack/operator.ts';
import { zone } from '../../../stack/rules.ts';
import { agentOf, agentStatus, firstPod, getPod, nodeCluster, PURPOSE } from '../cluster.ts';
import { figure } from '../figures.ts';

const SHORTEST_SECONDS = 600;
const RENEWED_WITHIN_MS = 20 * 60_000;
const CNF_POD = 'short-lived-token';

describe('a renewed token', () => {
  it(
    'is used by the running agent without a failed report',
    { timeout: 3 * RENEWED_WITHIN_MS },
    async () => {
      const cluster = await nodeCluster();
      const namespace = await cluster.createNamespace('token');
      const lan = zone('lan1', 'ovn-net1');
      await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
      const template = await getPod(cluster, namespace, await firstPod(cluster, namespace));
      await cluster.kubectl(['delete', 'deployment', PURPOSE, '-n', namespace]);
      await until('the first pod gone', async () => {
        const { stdout } = await cluster.kubectl(['get', 'pods', '-n', namespace, '-o', 'name']);
        return stdout.trim() === '' ? true : undefined;
      });
      await apply(cluster, namespace, withShortTokens(template), lan);
      await waitInSync(cluster, namespace, [lan]);

      const agent = agentOf(namespace, CNF_POD);
      const token = async () => await cluster.readFile(agent, '/var/run/sdewan/token');
      const first = await token();
      const startedAt = Date.now();
      await lookUntil({ what: 'another token', timeoutMs: RENEWED_WITHIN_MS }, async () =>
        (await token()) === first ? undefined : true,
      );
      figure('a token of 600 s, until the kubelet renewed it', Date.now() - startedAt);
      // Past the end of the first one, which a report with it would not outlive.
      await lookUntil({ what: 'the first token over', timeoutMs: RENEWED_WITHIN_MS }, async () =>
        Date.now() > startedAt + (SHORTEST_SECONDS + 30) * 1000 ? true : undefined,
      );
      const wan = zone('wan1', 'ovn-net2');
      await apply(cluster, namespace, wan);
      await waitInSync(cluster, namespace, [lan, wan]);
      const { stdout } = await cluster.kubectl([
        'logs',
        '-n',
        namespace,
        CNF_POD,
        '-c',
        agent.container,
      ]);
      expect(stdout).not.toContain('reports do not reach the coordinator');
      expect(stdout).not.toContain('"phase":"Refused"');
      expect(agentStatus(await getPod(cluster, namespace, CNF_POD))?.restartCount).toBe(0);
    },
  );
});

/**
 * The injected pod once more, as it is but for its tokens; the webhook is told to leave it alone.
 */
const withShortTokens = ({ spec, metadata }: PodObject): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: CNF_POD,
    labels: metadata.labels,
    annotations: { ...metadata.annotations, 'sdewan.akraino.org/inject': 'false' },
  },
  spec: JSON.parse(
    JSON.stringify({ ...spec, nodeName: undefined }).replaceAll(
      /"expirationSeconds":\d+/g,
      `"expirationSeconds":${SHORTEST_SECONDS}`,
    ),
  ),
});

type PodObject = Awaited<ReturnType<typeof getPod>>;
