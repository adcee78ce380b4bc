/**
 * Random histories of a CNFDeployment on the real control plane, one after the other: templates, rules and replicas change while pods, agents,
 * coordinators and the API server end. Each ends with the template that was written last, on as many pods as were asked for last, one of them active;
 * at no moment two pods are the nearest with their agents' word; and where only coordinators end, no request is lost. `coordinator/fleet/histories.test.ts` has
 * ten thousand of the stages alone.
 */
import * as fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { connectCluster } from 'kind-test-harness';
import { few } from '#shared/runtime/few.ts';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  policyOn,
  PURPOSE,
  seenFleet,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
} from '../cnf.ts';
import { watchFleet } from '../fleet-seen.ts';
import { leadingTerm, signalCoordinator } from '../leader.ts';
import { watchPods } from '../pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());
const HISTORIES = Math.min(caseCount(10), 100);
const HISTORY_MS = 300_000;
/** Told of a history that does not end. */
const LAST_STAGES = 8;

type Change =
  | { do: 'template' | 'rule' }
  | { do: 'scale'; replicas: number }
  | { do: 'paused'; paused: boolean }
  | { do: 'wait'; seconds: number };
type Fault =
  | { do: 'leader'; frozen: boolean }
  | { do: 'api-server' }
  | { do: 'pod' | 'agent'; at: number };
type Step = Change | Fault;

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('template' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rule' as const) }) },
  fc.record({ do: fc.constant('scale' as const), replicas: fc.integer({ min: 2, max: 3 }) }),
  fc.record({ do: fc.constant('paused' as const), paused: fc.boolean() }),
  fc.record({ do: fc.constant('leader' as const), frozen: fc.boolean() }),
  fc.record({ do: fc.constant('api-server' as const) }),
  fc.record({ do: fc.constantFrom('pod' as const, 'agent' as const), at: fc.nat(5) }),
);
const histories = fc.sample(fc.array(steps, { minLength: 3, maxLength: 7 }), {
  seed: SEED,
  numRuns: HISTORIES,
});

const isFault = (step: Step): step is Fault =>
  step.do === 'leader' || step.do === 'api-server' || step.do === 'pod' || step.do === 'agent';

/** Who ends a pod or an agent takes its requests along; in an outage of the API server in which no coordinator answers pods undo what has just been changed. */
const isCalm = (history: readonly Step[]): boolean =>
  history.every((step) => !isFault(step) || step.do === 'leader');

/** The API server, or who answers its reviews, may be down. */
const stubbornly = async (what: string, work: () => Promise<unknown>): Promise<void> => {
  let last: unknown;
  await until(what, 180_000, () =>
    work().then(
      () => true as const,
      (error: unknown) => {
        last = error;
        return undefined;
      },
    ),
  ).catch((error: unknown) => {
    throw new Error(`${what}: ${String(last)}`, { cause: error });
  });
};

const versionSchema = z.object({
  items: z.array(
    z.object({ metadata: z.object({ annotations: z.looseObject({ version: z.string() }) }) }),
  ),
});

it(
  `${HISTORIES} histories end right`,
  async () => {
    const namespace = await cluster.createNamespace('histories');
    const at = ['-n', namespace];
    const seen = await watchFleet(cluster, namespace);
    const pods = await watchPods(cluster, namespace, PURPOSE);
    let [version, replicas, rules] = [0, 2, 0];
    const write = () =>
      applyFleet(cluster, {
        namespace,
        replicas,
        version: String(version),
        lateMs: 1_000,
        rules: 0,
        spec: { bakeSeconds: 0 },
      });
    const patch = (spec: object) =>
      cluster.kubectl([
        'patch',
        `cnfdeploy/${PURPOSE}`,
        ...at,
        '--type=merge',
        '-p',
        JSON.stringify({ spec }),
      ]);
    const podAt = async (index: number): Promise<string> => {
      const there = await observePods(cluster, namespace, PURPOSE);
      return there[index % there.length]?.name ?? '';
    };

    const killLeader = async (frozen: boolean): Promise<void> => {
      const { pod, number } = await leadingTerm(cluster);
      if (frozen) {
        await signalCoordinator(cluster, pod, 'SIGSTOP');
        await until('another one leads', 60_000, async () =>
          (await leadingTerm(cluster)).number > number ? true : undefined,
        );
      }
      await signalCoordinator(cluster, pod, 'SIGKILL');
    };
    const fault = async (step: Fault): Promise<unknown> => {
      switch (step.do) {
        case 'leader':
          return killLeader(step.frozen);
        case 'api-server':
          return cluster.signalControlPlane('kube-apiserver', 'SIGKILL');
        case 'pod':
          return cluster.kubectl(['delete', 'pod', await podAt(step.at), ...at, '--wait=false']);
        case 'agent': {
          const target = { namespace, pod: await podAt(step.at), container: 'sdewan-agent' };
          // One that does not run yet cannot be killed.
          return cluster.killContainer(target, 'SIGKILL').catch(() => undefined);
        }
      }
      throw step satisfies never;
    };
    const change = async (step: Change): Promise<unknown> => {
      switch (step.do) {
        case 'template':
          version += 1;
          return write();
        case 'rule':
          rules += 1;
          return apply(cluster, namespace, policyOn(`more-${rules}`, 'ovn-net3'));
        case 'scale':
          ({ replicas } = step);
          return patch({ replicas });
        case 'paused':
          return patch({ paused: step.paused });
        case 'wait':
          return sleep(step.seconds * 1_000);
      }
      throw step satisfies never;
    };

    await apply(cluster, namespace, policyOn('late', 'ovn-net1'), policyOn('later', 'ovn-net3'));
    await write();
    await waitForFleet(cluster, namespace, 'the first set', serves(replicas));
    await untilTraffic(cluster, namespace);
    for (const [index, history] of histories.entries()) {
      const text = JSON.stringify(history);
      const before = pods.changes.length;
      const traffic = await startTraffic(cluster, namespace);
      for (const step of history)
        await stubbornly(step.do, () => (isFault(step) ? fault(step) : change(step)));
      await stubbornly('it goes on', () => patch({ paused: false }));
      version += 1;
      await stubbornly('the last template', write);
      const ends = until(`history ${index}, ${text}, ends`, HISTORY_MS, async () => {
        const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=sdewanPurpose%3D${PURPOSE}`;
        const found = versionSchema.safeParse(
          await cluster.api.find(path).catch(() => undefined),
        ).data;
        const versions = found?.items.map(({ metadata }) => metadata.annotations.version);
        const isRight =
          versions?.length === replicas &&
          versions.every((each) => each === String(version)) &&
          pods.ready().length === replicas &&
          pods.active().length === 1 &&
          seen.stages.at(-1) === 'Current';
        return isRight ? true : undefined;
      });
      await ends.catch(async (error: unknown) => {
        const last = JSON.stringify(await seenFleet(cluster, namespace));
        const stages = seen.stages.slice(-LAST_STAGES).join(', ');
        throw new Error(`history ${index}, ${text}: ${stages}; last seen: ${last}`, {
          cause: error,
        });
      });
      await waitForFleet(cluster, namespace, `history ${index}, ${text}`, serves(replicas));
      const { requests, lost } = await traffic.stop();
      console.log(
        `history ${index}, ${text}: ${lost.length} of ${requests} requests lost: ${few(lost)}`,
      );
      if (lost.length > 0) console.log(pods.changes.slice(before).join('\n'));
      expect({ text, nearest: seen.nearestAtOnce() }).toEqual({ text, nearest: 1 });
      expect({ text, lost: isCalm(history) ? few(lost) : '' }).toEqual({ text, lost: '' });
    }
  },
  HISTORIES * HISTORY_MS,
);
