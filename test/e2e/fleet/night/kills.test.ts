/**
 * In each stage of a roll-out its parts are killed or frozen, or a rule is added, under traffic: it
 * ends right, no request is lost, and each stage is passed once. Seen from outside: by one watch of
 * the CNFDeployment, one of its pods, and a client.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { connectCluster } from 'kind-test-harness';
import { few } from '#shared/util/few.ts';
import { withOwnNamespaces } from '../../../stack/own-namespaces.ts';
import { agentsDown } from '../../../stack/faults.ts';
import { observePods, until } from '../../../stack/observe.ts';
import { apply, waitInSync } from '../../../stack/operator.ts';
import type { Rule } from '../../../stack/rules.ts';
import {
  applyFleet,
  eventsOf,
  policyOn,
  PURPOSE,
  seenFleet,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
  type FleetCnf,
  type SeenFleet,
} from '../cnf.ts';
import { watchFleet, type FleetSeen } from '../fleet-seen.ts';
import { journalOf } from '../journal.ts';
import { leadingTerm, signalCoordinator } from '../leader.ts';
import { bringInterface, hasPolicy } from '../openwrt.ts';
import { watchPods, type PodsSeen } from '../pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());
const STAGES = ['Staged', 'Connected', 'Swapping', 'HandedOver', 'Soaking'] as const;
const REPLICAS = 2;
/**
 * Longer than there is no leader, and than new pods are not ready: Kubernetes takes the old ones
 * then.
 */
const LONG_SOAK_SECONDS = 45;
/** Longer than an agent looks before it undoes what has just been changed. */
const OUTAGE_MS = 10_000;
/** That a set is Connected is told when it lasts. */
const LATE_MS = 15_000;
const TIMEOUT_MS = 1_200_000;

type Rolled = {
  /** Through which stages it went. */
  went: readonly string[];
  /** At the worst moment. */
  fewestReady: number;
};

type Fixture = {
  namespace: string;
  pods: PodsSeen;
  seen: FleetSeen;
  /** The next roll-out; `hit` is called once for each of the stages, one call after the other. */
  roll: (
    version: string,
    stages: readonly string[],
    hit: (stage: string) => Promise<unknown>,
  ) => Promise<Rolled>;
};

type Kind = {
  soakSeconds: number;
  rules?: readonly Rule[];
  /** When the interface comes, for which the last rule waits. */
  lateMs?: number;
};

const setUp = async (
  prefix: string,
  { soakSeconds, rules = [policyOn('late', 'ovn-net3')], lateMs = LATE_MS }: Kind,
): Promise<Fixture> => {
  const namespace = await cluster.createNamespace(prefix);
  const cnf: FleetCnf = {
    namespace,
    replicas: REPLICAS,
    version: '0',
    lateMs,
    rules: 0,
    spec: { soakSeconds },
  };
  const seen = await watchFleet(cluster, namespace);
  const pods = await watchPods(cluster, namespace, PURPOSE);
  await apply(cluster, namespace, ...rules);
  await applyFleet(cluster, cnf);
  await waitForFleet(cluster, namespace, 'the first set', serves(REPLICAS));
  await untilTraffic(cluster, namespace);

  const roll: Fixture['roll'] = async (version, stages, hit) => {
    const rest = await waitForFleet(cluster, namespace, 'it is at rest', serves(REPLICAS));
    const before = seen.stages.length;
    const left = new Set(stages);
    const hits: string[] = [];
    let lastHit: Promise<unknown> = Promise.resolve();
    const traffic = await startTraffic(cluster, namespace);
    const counted = pods.count();
    seen.onStage((stage) => {
      if (!left.delete(stage)) return;
      lastHit = lastHit.then(() => {
        hits.push(`${stage} (then ${seen.stages.at(-1)}, with ${pods.ready().length} ready)`);
        return hit(stage);
      });
    });
    await applyFleet(cluster, { ...cnf, version });
    const isNext = serves(REPLICAS, rest.currentRevision);
    let last: SeenFleet = {};
    await until('the next set serves', async () => {
      // The API server may be down.
      last = (await seenFleet(cluster, namespace).catch(() => undefined)) ?? last;
      return isNext(last) || last.stage === 'Failed' ? true : undefined;
    }).catch((cause: unknown) => {
      throw new Error(`last seen: ${JSON.stringify(last)}`, { cause });
    });
    await lastHit;
    const { requests, lost } = await traffic.stop();
    const went = seen.stages.slice(before);
    console.log(
      `${prefix}, ${version}: ${went.join(' ')}; hit in ${hits.join(', ')}; ${lost.length} of ${requests} requests lost: ${few(lost)}`,
    );
    if (lost.length > 0) await sayChanges(namespace);
    expect(last).toMatchObject({ stage: 'Current' });
    expect(left).toEqual(new Set());
    expect(lost).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(seen.nearestAtOnce()).toBe(1);
    return { went, fewestReady: counted.fewestReady };
  };
  return { namespace, pods, seen, roll };
};

/**
 * When the OpenWRT of each pod was changed last: whether it was the pods that had lost their rules.
 */
const sayChanges = async (namespace: string): Promise<void> => {
  for (const { name } of await podsOf(namespace)) {
    // It may have gone meanwhile.
    const journal = await journalOf(cluster, namespace, name).catch(() => []);
    const changes = journal
      .filter(({ event }) => event !== 'reload')
      .slice(-8)
      .map(({ at, event, package: of = '' }) => `${at} ${event} ${of}`);
    console.log(`${name}:\n  ${changes.join('\n  ')}`);
  }
};

/**
 * A step that was taken twice would leave another ReplicaSet, or the Event of its stage again. Who
 * begins to lead knows of no report yet, so that the stages before the hand-over may be passed
 * again.
 */
const expectOneRoll = async (namespace: string, { went }: Rolled, rolls = 1): Promise<void> => {
  const handedOver = went.indexOf('HandedOver');
  expect(went.slice(handedOver)).toEqual(['HandedOver', 'Soaking', 'Current']);
  expect(STAGES.slice(0, 3)).toEqual(expect.arrayContaining(went.slice(0, handedOver)));
  const { stdout } = await cluster.kubectl(['get', 'rs', '-n', namespace, '-o', 'name']);
  expect(stdout.trim().split('\n')).toHaveLength(1 + rolls);
  // Events are written in the background.
  const current = await until('each roll-out has its Event', async () => {
    const [, ...lines] = (await eventsOf(cluster, namespace, 'Current')).trim().split('\n');
    return lines.length > rolls ? lines : undefined;
  });
  expect(current).toHaveLength(1 + rolls);
};

it(
  'survives a leading coordinator that is killed with -9',
  async () => {
    const { roll, namespace } = await setUp('leader', { soakSeconds: LONG_SOAK_SECONDS });
    const rolled = await roll('1', STAGES, async () =>
      signalCoordinator(cluster, (await leadingTerm(cluster)).pod, 'SIGKILL'),
    );
    await expectOneRoll(namespace, rolled);
    expect(rolled.fewestReady).toBe(REPLICAS);
  },
  TIMEOUT_MS,
);

const podSchema = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  spec: z.object({ readinessGates: z.array(z.unknown()).default([]) }),
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
  }),
});
const podAt = async (namespace: string, name: string) => {
  const found = podSchema.parse(
    await cluster.api.find(`/api/v1/namespaces/${namespace}/pods/${name}`),
  );
  const isRunning = found.status.conditions.some(
    ({ type, status }) => type === 'ContainersReady' && status === 'True',
  );
  return { set: found.metadata.labels['pod-template-hash'] ?? '', ...found.spec, isRunning };
};
const isRunning = async (namespace: string, name: string): Promise<boolean> =>
  (await podAt(namespace, name)).isRunning;

it(
  'survives a leading coordinator that is frozen, a pod of the serving set that is lost, and a leader that is killed when another one leads',
  async () => {
    const { namespace, pods, roll } = await setUp('frozen', {
      soakSeconds: LONG_SOAK_SECONDS,
      // A pod in the place of a lost one waits for no rule: traffic needs the one that is in its
      // first pass, and a new set waits for the other one, too.
      rules: [policyOn('late', 'ovn-net1'), policyOn('later', 'ovn-net3')],
    });
    const made: string[] = [];
    // One in each roll-out: while there is no leader, Kubernetes goes on with both sets.
    for (const [index, stage] of STAGES.entries()) {
      const [first] = pods.ready();
      const { set } = await podAt(namespace, first?.name ?? '');
      const serving = () =>
        pods.ready().filter(({ name }) => name.startsWith(`${PURPOSE}-${set}-`));
      const rolled = await roll(stage.toLowerCase(), [stage], async () => {
        const term = await leadingTerm(cluster);
        await signalCoordinator(cluster, term.pod, 'SIGSTOP');
        const before = new Set(serving().map(({ uid }) => uid));
        const [lost] = serving();
        if (!lost) throw new Error(`in ${stage} no pod of the serving set is ready`);
        await cluster.kubectl(['delete', 'pod', lost.name, '-n', namespace, '--wait=false']);
        const back = await until(`it is replaced in ${stage}`, async () =>
          serving().find(({ uid }) => !before.has(uid)),
        );
        const { readinessGates } = await podAt(namespace, back.name);
        made.push(`${stage}: ${JSON.stringify(readinessGates)}`);
        await until('another one leads', async () =>
          (await leadingTerm(cluster)).number > term.number ? true : undefined,
        );
        await signalCoordinator(cluster, term.pod, 'SIGKILL');
      });
      await expectOneRoll(namespace, rolled, index + 1);
    }
    expect(made).toEqual(STAGES.map((stage) => `${stage}: []`));
  },
  TIMEOUT_MS,
);

it(
  'survives an API server that stands still, and is killed with -9',
  async () => {
    const { namespace, roll } = await setUp('api-server', { soakSeconds: LONG_SOAK_SECONDS });
    const rolled = await roll('1', STAGES, async () => {
      await cluster.signalControlPlane('kube-apiserver', 'SIGSTOP');
      await sleep(OUTAGE_MS);
      await cluster.signalControlPlane('kube-apiserver', 'SIGKILL');
    });
    await expectOneRoll(namespace, rolled);
    expect(rolled.fewestReady).toBe(REPLICAS);
  },
  TIMEOUT_MS,
);

it(
  'survives agents of the new pods that are killed with -9',
  async () => {
    const { namespace, roll } = await setUp('agents', { soakSeconds: LONG_SOAK_SECONDS });
    // Not all in one roll-out: a container that ends often is started again later and later.
    for (const stages of [STAGES.slice(0, 3), STAGES.slice(3)]) {
      const before = new Set((await podsOf(namespace)).map(({ uid }) => uid));
      const { went } = await roll(stages.join('-').toLowerCase(), stages, async () => {
        const made = (await podsOf(namespace)).filter(({ uid }) => !before.has(uid));
        await Promise.all(made.map(({ name }) => killAgent(namespace, name)));
      });
      // A pod whose agent starts again is not connected for a moment.
      expect(new Set(went)).toEqual(new Set([...STAGES, 'Current']));
    }
  },
  TIMEOUT_MS,
);

/**
 * Longer than from the last rule in sync to the label and the gate, and shorter than what a set
 * that has the traffic may lack a rule for.
 */
const HOLD_MS = 8_000;

it(
  'gives no new pod the traffic before it has a rule that is added as well',
  async () => {
    const { namespace, pods, roll, seen } = await setUp('rules', {
      soakSeconds: LONG_SOAK_SECONDS,
      lateMs: 1_000,
    });
    const at = (pod: { name: string }) => ({ namespace, pod: pod.name });
    const old = await podsOf(namespace);
    const before = new Set(old.map(({ uid }) => uid));
    const made = async () => (await podsOf(namespace)).filter(({ uid }) => !before.has(uid));
    const bring = async (these: readonly { name: string }[], network: string) => {
      for (const pod of these) await bringInterface(cluster, at(pod), network);
    };
    const haveRule = (these: readonly { name: string }[], name: string): Promise<true> =>
      until(`${these.length} pods have ${name}`, async () => {
        const have = await Promise.all(these.map((pod) => hasPolicy(cluster, at(pod), name)));
        return have.length === REPLICAS && have.every(Boolean) ? true : undefined;
      });
    const added: Rule[] = [];
    const add = async (name: string, network: string): Promise<void> => {
      const rule = policyOn(name, network);
      added.push(rule);
      await apply(cluster, namespace, rule);
    };
    /** By the watch of pods. */
    const hold = async (what: string): Promise<void> => {
      await sleep(HOLD_MS);
      const early = pods.reachable().filter(({ uid }) => !before.has(uid));
      if (early.length > 0)
        throw new Error(`${few(early.map(({ name }) => name))} has the traffic before ${what}`);
    };
    // The pods that serve have each rule at once, and the new ones when the test brings its
    // interface: it is the last that they lack.
    for (const network of ['net4', 'net5', 'net6']) await bring(old, network);
    const inEach = async (): Promise<void> => {
      await add('staged', 'ovn-net4');
      await haveRule(old, 'staged');
      const next = await until('the new pods run', async () => {
        const running = await made();
        const areReady = await Promise.all(running.map((pod) => isRunning(namespace, pod.name)));
        return running.length === REPLICAS && areReady.every(Boolean) ? running : undefined;
      });
      await haveRule(next, 'late');
      await add('connected', 'ovn-net5');
      await haveRule(old, 'connected');
      await hold('staged');
      await bring(next, 'net4');
      await haveRule(next, 'staged');
      await hold('connected');
      // The swap waits for the word of the agents that serve.
      const standby = old.filter(({ uid }) => !pods.active().some((pod) => pod.uid === uid));
      const names = standby.map(({ name }) => name);
      const wake = await agentsDown(cluster, namespace, PURPOSE, names);
      await bring(next, 'net5');
      await until('distances are swapped', async () =>
        ['Swapping', 'HandedOver'].includes(seen.stages.at(-1) ?? '') ? true : undefined,
      );
      await add('swapping', 'ovn-net6');
      const stage = seen.stages.at(-1);
      console.log(`rules: the third was added in ${stage}`);
      await wake();
      if (stage === 'Swapping') {
        await haveRule(old, 'swapping');
        await hold('swapping');
      }
      await bring(next, 'net6');
    };
    const rolled = await roll('1', ['Staged', 'HandedOver', 'Soaking'], (stage) =>
      stage === 'Staged' ? inEach() : add(stage.toLowerCase(), 'ovn-net3'),
    );
    expect(added).toHaveLength(STAGES.length);
    await waitInSync(cluster, namespace, added);
    await expectOneRoll(namespace, rolled);
    expect(rolled.fewestReady).toBe(REPLICAS);
  },
  TIMEOUT_MS,
);

const podsOf = (namespace: string) => observePods(cluster, namespace, PURPOSE);

/** As soon as it runs. */
const killAgent = (namespace: string, pod: string): Promise<true> =>
  until(`the agent of ${pod} is killed`, () =>
    cluster.killContainer({ namespace, pod, container: 'sdewan-agent' }, 'SIGKILL').then(
      () => true as const,
      () => undefined,
    ),
  );
