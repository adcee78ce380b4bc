/**
 * The agent's memory limit is real: an agent that reaches it is killed, comes back in its pod and
 * converges.
 */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import {
  agentOf,
  agentStatus,
  countRules,
  firstPod,
  getPod,
  nodeCluster,
  PURPOSE,
  zoneAndRules,
} from './cluster.ts';
import { measured } from './figures.ts';

const RULES = 100;

describe('an agent at its memory limit', async () => {
  const cluster = await nodeCluster();
  const rules = zoneAndRules(RULES);
  let namespace = '';
  let pod = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('memory');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    pod = await firstPod(cluster, namespace);
  });

  /** Lower than what it uses, so that the kernel kills it as soon as it wants more. */
  const tightenLimit = async (): Promise<void> => {
    const group = await cluster.node.cgroup(agentOf(namespace, pod), 'memory');
    const [usage, limit] = existsSync(join(group, 'memory.max'))
      ? ['memory.current', 'memory.max']
      : ['memory.usage_in_bytes', 'memory.limit_in_bytes'];
    const used = Number(await readFile(join(group, usage), 'utf8'));
    await writeFile(join(group, limit), String(used));
  };

  it('is killed, comes back and converges', async () => {
    const uid = (await getPod(cluster, namespace, pod)).metadata.uid;
    await tightenLimit();
    await apply(cluster, namespace, ...rules);
    await until('the agent killed', async () => {
      const status = agentStatus(await getPod(cluster, namespace, pod));
      return status?.lastState.terminated?.reason === 'OOMKilled' ? true : undefined;
    });
    await measured(`agent killed at its memory limit, until ${RULES} rules are in sync`, () =>
      waitInSync(cluster, namespace, rules),
    );
    expect(await countRules(cluster, namespace, pod)).toBe(RULES);
    const after = await getPod(cluster, namespace, pod);
    expect(after.metadata.uid).toBe(uid);
    expect(after.status.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});
