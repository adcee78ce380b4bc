/**
 * Commit-confirm of whole CNFs: pods with real agents in a real cluster, whose ways to the API
 * server and the coordinators are cut as soon as the pod's own OpenWRT holds a rule that drops
 * them. What is judged: OpenWRT's files, what was cut when, and what kubectl shows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createUplinks, UPLINK_AGENT_IMAGE, type Cut, type Uplinks } from '../../faults/uplinks.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import { createCnf } from '../../stack/cnf.ts';
import { cnfHangs, coordinatorDown } from '../../stack/faults.ts';
import { observePods, readCnf, until } from '../../stack/observe.ts';
import { apply, waitForPods, waitForRules, waitInSync } from '../../stack/operator.ts';
import { idOf, rejectRule, zone, type Rule } from '../../stack/rules.ts';
import { witness } from '../../stack/witness.ts';
import { e2eCluster } from '../cluster.ts';

const WATCHED = 'cnf-1';
const REPLICAS = 2;
const UNWATCHED = 'cnf-2';
const DEADLINE_SECONDS = 10;
const DEADLINE_MS = DEADLINE_SECONDS * 1_000;
/** The kinds of rules that drop the pod's packets. */
const CUTTING_PORT = '6443';

const lan = zone('lan1', 'ovn-net1');
const good = Array.from({ length: 10 }, (_, index) => rejectRule(index, 'lan1'));
const later = (index: number): Rule => rejectRule(100 + index, 'lan1');
/** Its index makes its name; it cuts its pod off while its target is DROP. */
const cutting = (index: number, target = 'DROP', purpose = WATCHED): Rule => {
  const base = rejectRule(200 + index, purpose === WATCHED ? 'lan1' : '*', purpose);
  return { ...base, spec: { ...base.spec, dest_port: CUTTING_PORT, target } };
};

const isCutting = ({ options }: DeviceSection): boolean =>
  options['dest_port'] === CUTTING_PORT && options['target'] === 'DROP';
const byItsRules = (firewall: readonly DeviceSection[]): Cut =>
  firewall.some(isCutting) ? 'all' : 'nothing';

const statusSchema = z.object({
  /** None is written yet. */
  status: z
    .object({
      inSync: z.boolean().optional(),
      lostConnectivity: z.object({ purpose: z.string(), message: z.string() }).optional(),
      outOfSync: z.array(z.object({ reason: z.string(), message: z.string() })).optional(),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string(),
            message: z.string(),
          }),
        )
        .default([]),
    })
    .prefault({}),
});
const blamedSchema = z.object({ status: z.object({ lostConnectivity: z.object({}) }) });

describe('a rule that cuts a whole CNF off', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let uplinks: Uplinks;

  const annotations = (deadline: string) => ({
    'sdewan.akraino.org/agent-image': UPLINK_AGENT_IMAGE,
    'sdewan.akraino.org/agent-commit-confirm': deadline,
  });
  const podsOf = async (purpose = WATCHED): Promise<string[]> =>
    (await observePods(cluster, namespace, purpose)).map(({ name }) => name);
  const firewallOf = async (pod: string): Promise<readonly DeviceSection[]> =>
    (await readCnf(cluster, { namespace, pod })).get('firewall') ?? [];
  /** Source addresses of our rules on a pod's OpenWRT. */
  const addressesOn = async (pod: string): Promise<string[]> =>
    (await firewallOf(pod)).flatMap(({ options }) => options['src_ip'] ?? []);
  const expectExactly = async (rules: readonly Rule[]): Promise<void> => {
    const wanted = rules.map(({ spec }) => String(spec['src_ip'])).sort();
    for (const pod of await podsOf()) expect((await addressesOn(pod)).sort()).toEqual(wanted);
  };
  const holds = async (pod: string, { spec }: Rule): Promise<boolean> =>
    (await addressesOn(pod)).includes(String(spec['src_ip']));
  const waitHeld = (pod: string, rule: Rule): Promise<true> =>
    until(`the rule on ${pod}`, async () => (await holds(pod, rule)) || undefined);
  /** Not once gone meanwhile. */
  const expectHeld = async (pods: readonly string[], rule: Rule, ms: number): Promise<void> => {
    const end = Date.now() + ms;
    while (Date.now() < end) {
      for (const pod of pods) expect(await holds(pod, rule)).toBe(true);
      await sleep(100);
    }
  };
  const statusOf = async ({ kind, metadata }: Rule) => {
    const { stdout } = await cluster.kubectl([
      'get',
      `${kind.toLowerCase()}/${metadata.name}`,
      '-n',
      namespace,
      '-o',
      'json',
    ]);
    return statusSchema.parse(JSON.parse(stdout)).status;
  };
  const readyOf = async (rule: Rule) =>
    (await statusOf(rule)).conditions.find(({ type }) => type === 'Ready');
  /** By the agents of all pods, none of which is searching any more. */
  const waitBlamed = (rule: Rule): Promise<true> =>
    until(`${idOf(rule)} is blamed`, async () => {
      const { lostConnectivity, outOfSync = [] } = await statusOf(rule);
      const found = outOfSync.filter(
        ({ reason, message }) => reason === 'LostConnectivity' && !message.includes('searching'),
      );
      return lostConnectivity && found.length === REPLICAS ? true : undefined;
    });
  /** `Kind/name` of rules whose status ever said that they have cut a CNF off. */
  const everBlamed = async (): Promise<string[]> => {
    const { sightings } = await witness(cluster, namespace);
    const blamed = sightings.filter(({ object }) => blamedSchema.safeParse(object).success);
    return [...new Set(blamed.map(({ id }) => id))].toSorted();
  };
  const waitCut = (pod: string, since: number): Promise<number> =>
    until(`${pod} is cut off`, async () => {
      const found = uplinks.history(pod).find(({ at, cut }) => at >= since && cut !== 'nothing');
      return found?.at;
    });
  const waitBack = (pod: string, since: number): Promise<number> =>
    until(`${pod} is back`, async () => {
      const found = uplinks.history(pod).find(({ at, cut }) => at > since && cut === 'nothing');
      return found?.at;
    });

  beforeAll(async () => {
    namespace = await cluster.createNamespace('cnf-commit-confirm');
    uplinks = await createUplinks(cluster);
    const watched = { purpose: WATCHED, replicas: REPLICAS };
    await createCnf(cluster, {
      namespace,
      ...watched,
      annotations: annotations(String(DEADLINE_SECONDS)),
    });
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
    // From the beginning, for what was ever said.
    await witness(cluster, namespace);
  });
  beforeEach(() => uplinks.drop(byItsRules));
  afterAll(async () => {
    uplinks?.drop(() => 'nothing');
    await uplinks?.stop();
  });

  it('is undone within the deadline, found and named; the ten others are applied on all pods', async () => {
    const since = Date.now();
    const pods = await podsOf();
    expect(pods).toHaveLength(REPLICAS);
    await apply(cluster, namespace, ...good.slice(0, 5), cutting(0), ...good.slice(5));
    for (const pod of pods) {
      const cutAt = await waitCut(pod, since);
      const backAt = await waitBack(pod, cutAt);
      expect(backAt - cutAt).toBeLessThan(DEADLINE_MS);
    }
    await waitBlamed(cutting(0));
    await waitInSync(cluster, namespace, good);
    await expectExactly(good);
    expect(await readyOf(cutting(0))).toMatchObject({
      status: 'False',
      reason: 'LostConnectivity',
    });
    const { message } = (await statusOf(cutting(0))).lostConnectivity ?? {};
    expect(message).toMatch(/^the agent loses the API server .*with the rule/);
    expect(await everBlamed()).toEqual([idOf(cutting(0))]);
  });

  it('cuts off no pod that comes later: it leaves out just this revision', async () => {
    const before = new Set(await podsOf());
    await cluster.kubectl(['delete', 'pods', '-n', namespace, '-l', `sdewanPurpose=${WATCHED}`]);
    await waitForPods(cluster, namespace, WATCHED, REPLICAS);
    await waitInSync(cluster, namespace, [lan, ...good]);
    await sleep(3_000);
    for (const pod of await podsOf()) {
      expect(before.has(pod)).toBe(false);
      expect(uplinks.history(pod).map(({ cut }) => cut)).toEqual(['nothing']);
    }
    await expectExactly(good);
    expect(await readyOf(cutting(0))).toMatchObject({
      status: 'False',
      reason: 'LostConnectivity',
    });
  });

  it('is applied when it has changed, and is not to blame any more', async () => {
    await apply(cluster, namespace, cutting(0, 'ACCEPT'));
    await waitInSync(cluster, namespace, [cutting(0, 'ACCEPT')]);
    await expectExactly([...good, cutting(0)]);
    expect((await statusOf(cutting(0))).lostConnectivity).toBeUndefined();
  });

  it('is undone by the next agent when the agents are killed right after the cut', async () => {
    const since = Date.now();
    const pods = await podsOf();
    await apply(cluster, namespace, cutting(1));
    await Promise.all(
      pods.map(async (pod) => {
        const cutAt = await waitCut(pod, since);
        await cluster.killContainer({ namespace, pod, container: 'sdewan-agent' }, 'SIGKILL');
        // A container that ended is started again after a while, and logs in anew.
        expect((await waitBack(pod, cutAt)) - cutAt).toBeLessThan(2 * DEADLINE_MS);
      }),
    );
    await waitBlamed(cutting(1));
    const others = [...good, cutting(0)];
    await waitInSync(cluster, namespace, [lan, ...others]);
    await expectExactly(others);
    await cluster.kubectl(['delete', '-n', namespace, `firewallrule/${cutting(1).metadata.name}`]);
  });

  it('is not blamed for an API server that was down before', async () => {
    const [rule, blamed] = [later(0), await everBlamed()];
    const pods = await podsOf();
    // Changes before this one are watched for some 15 s, and what a look has shown then holds for
    // ten more.
    await sleep(1.5 * DEADLINE_MS);
    const resume = await Promise.all(pods.map((pod) => cnfHangs(cluster, namespace, pod)));
    await apply(cluster, namespace, rule);
    // The agents have heard of it meanwhile.
    await sleep(DEADLINE_MS + 2_000);
    await cluster.signalControlPlane('kube-apiserver', 'SIGSTOP');
    try {
      await Promise.all(resume.map((each) => each()));
      for (const pod of pods) await waitHeld(pod, rule);
      await expectHeld(pods, rule, DEADLINE_MS + 6_000);
    } finally {
      await cluster.signalControlPlane('kube-apiserver', 'SIGCONT');
    }
    await waitInSync(cluster, namespace, [rule]);
    expect(await everBlamed()).toEqual(blamed);
  });

  it('stays when the API server fails for the coordinators, too, right after it was applied', async () => {
    const [rule, blamed] = [later(4), await everBlamed()];
    const pods = await podsOf();
    await apply(cluster, namespace, rule);
    for (const pod of pods) await waitHeld(pod, rule);
    await cluster.signalControlPlane('kube-apiserver', 'SIGSTOP');
    try {
      // A look takes five seconds, and one that began before still finds it.
      await expectHeld(pods, rule, DEADLINE_MS);
    } finally {
      await cluster.signalControlPlane('kube-apiserver', 'SIGCONT');
    }
    await expectHeld(pods, rule, 2_000);
    await waitInSync(cluster, namespace, [rule]);
    expect(await everBlamed()).toEqual(blamed);
  });

  it('is not blamed for an API server that fails for its pod alone with it and does not come back without it', async () => {
    const [rule, blamed, since] = [later(1), await everBlamed(), Date.now()];
    let isAway = false;
    const isIt = ({ options }: DeviceSection): boolean => options['src_ip'] === rule.spec['src_ip'];
    uplinks.drop((firewall) => {
      isAway ||= firewall.some(isIt);
      return isAway ? 'all' : 'nothing';
    });
    await apply(cluster, namespace, rule);
    for (const pod of await podsOf()) await waitCut(pod, since);
    for (const pod of await podsOf())
      await until(`it is undone on ${pod}`, async () =>
        (await firewallOf(pod)).some(isIt) ? undefined : true,
      );
    // Longer than the agents wait for it to come back.
    await sleep(2 * DEADLINE_MS);
    uplinks.drop(byItsRules);
    await waitInSync(cluster, namespace, [rule]);
    expect(await everBlamed()).toEqual(blamed);
  });

  it('stays when it loses the coordinators only, and when there are none', async () => {
    const [cut, none, blamed] = [later(2), later(3), await everBlamed()];
    const isIt = ({ options }: DeviceSection): boolean => options['src_ip'] === cut.spec['src_ip'];
    const [begun, pods] = [Date.now(), await podsOf()];
    uplinks.drop((firewall) => (firewall.some(isIt) ? 'coordinators' : 'nothing'));
    await apply(cluster, namespace, cut);
    for (const pod of pods) await waitCut(pod, begun);
    await sleep(2 * DEADLINE_MS);
    // Not once gone since.
    for (const pod of pods)
      expect(uplinks.history(pod).filter(({ at }) => at >= begun)).toHaveLength(1);
    uplinks.drop(byItsRules);
    await waitInSync(cluster, namespace, [cut]);

    const restore = await coordinatorDown(cluster);
    try {
      await apply(cluster, namespace, none);
      for (const pod of pods) await waitHeld(pod, none);
      await sleep(2 * DEADLINE_MS);
      for (const pod of pods) expect(await holds(pod, none)).toBe(true);
    } finally {
      await restore();
    }
    await waitInSync(cluster, namespace, [none]);
    expect(await everBlamed()).toEqual(blamed);
  });

  it('stays where the CNF has switched it off', async () => {
    const [rule, begun] = [cutting(2, 'DROP', UNWATCHED), Date.now()];
    const cnf = { namespace, purpose: UNWATCHED, replicas: 1, annotations: annotations('off') };
    await createCnf(cluster, cnf);
    const [pod = ''] = await podsOf(UNWATCHED);
    await apply(cluster, namespace, rule);
    const cutAt = await waitCut(pod, begun);
    // A pod that is watched is back within the deadline.
    await sleep(1.5 * DEADLINE_MS);
    expect(uplinks.history(pod).filter(({ at }) => at >= cutAt)).toHaveLength(1);
    expect(await holds(pod, rule)).toBe(true);
    uplinks.drop(() => 'nothing');
    await waitForRules(cluster, namespace, { what: 'the rule in sync' }, (seen) =>
      seen.some(
        (each) => each.metadata.name === rule.metadata.name && each.status?.inSync === true,
      ),
    );
  });
});
