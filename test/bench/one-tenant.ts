/**
 * What one tenant's mass of rules costs the others: `node test/bench/one-tenant.ts [--attack largest] [--rules 10000]`. Attacks: `largest`,
 * FirewallRules with all that schema and policies permit; `sites`, IpsecSites, the kind with the largest specs; `before`, zones with
 * annotations that were possible before the policies. Prints how long another namespace waits for the status of a rule and for a CNF pod,
 * before, beside and after the attack, what the coordinator comes to in memory, and how the deletion of the tenant's namespace goes. With
 * `--before-start` all of them are there when a coordinator starts, which the API server takes in minutes instead of an hour; its end is then the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCluster } from 'kind-test-harness';
import { request } from 'undici';
import type { NewObject } from '#shared/kube/client.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';
import { largestFirewallRule, largestSite, zoneWith } from '../attacks/largest.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { createLimitedWorld } from '../attacks/limited-world.ts';
import { memoryOf } from '../attacks/memory.ts';
import type { World } from '../integration/admission/world.ts';
import { podResource } from '../integration/coordinator/pods.ts';
import { usageOf } from './usage.ts';

const attacks = {
  largest: { resource: firewallRule, object: largestFirewallRule, permitted: true },
  sites: { resource: ipsecSite, object: largestSite, permitted: true },
  before: { resource: firewallZone, object: zoneWith(250_000), permitted: false },
};
type Attack = keyof typeof attacks;

const { values } = parseArgs({
  options: {
    attack: { type: 'string', default: 'largest' satisfies Attack },
    rules: { type: 'string', default: '10000' },
    samples: { type: 'string', default: '20' },
    'at-once': { type: 'string', default: '10' },
    'before-start': { type: 'boolean', default: false },
  },
});
const RULES = Number(values.rules);
const SAMPLES = Number(values.samples);
const AT_ONCE = Number(values['at-once']);
const beforeStart = values['before-start'];

const isAttack = (name: string): name is Attack => name in attacks;
if (!isAttack(values.attack)) throw new Error(`no such attack: ${values.attack}`);
const { resource, object, permitted } = attacks[values.attack];

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const since = (at: number): number => performance.now() - at;

const PROGRAMS = ['kube-apiserver', 'etcd', 'kube-controller-manager', 'coordinator'] as const;

const usage = (): string =>
  PROGRAMS.map((program) => {
    const all = usageOf(program);
    const sum = (of: 'cpuSeconds' | 'mebibytes'): string =>
      all.reduce((so, each) => so + each[of], 0).toFixed(0);
    return `${program} ${sum('cpuSeconds')} s ${sum('mebibytes')} MiB`;
  }).join(', ');

let made = 0;

/**
 * Milliseconds until another namespace's rule is created, has a status, and until its CNF's pod is there with its agent. The time of the creation is
 * mostly the API server's own.
 */
const waitsOf = async (world: World, namespace: string): Promise<string> => {
  const creations: number[] = [];
  const statuses: number[] = [];
  const pods: number[] = [];
  const refusals = new Set<string>();
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const name = `sample-${(made += 1)}`;
    const ruleAt = performance.now();
    await world.client.create(firewallZone, zoneWith(0)(namespace, name));
    creations.push(since(ruleAt));
    while (!(await world.client.get(firewallZone, { namespace, name })).status) await sleep(10);
    statuses.push(since(ruleAt));
    const podAt = performance.now();
    try {
      await world.client.create(podResource, podOf(namespace, name));
      pods.push(since(podAt));
      await world.client.delete(podResource, { namespace, name }, { gracePeriodSeconds: 0 });
    } catch (error) {
      refusals.add(messageOf(error));
    }
  }
  const refused = SAMPLES - pods.length;
  return (
    `created ${spread(creations)}, status ${spread(statuses)}, pod ${spread(pods)}` +
    (refused > 0 ? `; ${refused} of ${SAMPLES} pods refused: ${[...refusals].join(', ')}` : '')
  );
};

const spread = (ms: number[]): string => {
  const sorted = ms.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    String(Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0));
  return `${at(0.5)} ms (p90 ${at(0.9)} ms, most ${at(1)} ms)`;
};

const podOf = (namespace: string, purpose: string): NewObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name: purpose, labels: { sdewanPurpose: purpose } },
  spec: { schedulerName: 'nobody', containers: [{ name: 'sdewan', image: 'none' }] },
});

const fill = async (world: World, namespace: string): Promise<void> => {
  let next = 0;
  const write = async (): Promise<void> => {
    for (let at = next++; at < RULES; at = next++)
      await world.client.create(resource, object(namespace, `rule-${at}`));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
};

const writeBeside = async (world: World, namespace: string, other: string): Promise<void> => {
  const filledAt = performance.now();
  const filling = fill(world, namespace);
  console.log(`while he writes: ${await waitsOf(world, other)}`);
  await filling;
  const { now, peak } = memoryOf(world.pid());
  console.log(
    `${RULES} rules written in ${seconds(since(filledAt))}; coordinator ${now} MiB, at most ${peak} MiB; ${usage()}`,
  );
  console.log(`beside them: ${await waitsOf(world, other)}`);
};

/** Prints how many are left while the namespace goes. */
const remove = async (world: World, namespace: string): Promise<void> => {
  const startedAt = performance.now();
  await world.kubectl('delete', 'namespace', namespace, '--wait=false');
  const metadataOnly = ['get', '--raw', '/metrics'] as const;
  const counted = new RegExp(
    `^apiserver_(?:storage|resource)_objects\\{[^}]*${resource.plural}[^}]*\\} (\\S+)`,
    'm',
  );
  for (let round = 1; ; round += 1) {
    const { stdout } = await world.kubectl(
      'get',
      'namespace',
      namespace,
      '-o',
      'name',
      '--ignore-not-found',
    );
    if (stdout === '') break;
    if (round % 10 === 0) {
      const left = counted.exec((await world.kubectl(...metadataOnly)).stdout)?.[1];
      const removed = world.log.filter(({ msg }) => msg === 'finalizer of a rule removed').length;
      console.log(
        `  ${seconds(since(startedAt))}: about ${left} left, ${removed} finalizers removed; ${usage()}`,
      );
    }
    await sleep(1_000);
  }
  const { body } = await request(`${world.httpUrl()}/metrics`);
  const text = await body.text();
  const metric = (name: string): number =>
    Number(new RegExp(`^sdewan_coordinator_removal_seconds_${name} (\\S+)`, 'm').exec(text)?.[1]);
  console.log(
    `namespace of the tenant deleted in ${seconds(since(startedAt))}; from the deletion of a rule to the removal of its finalizer ` +
      `${(metric('sum') / metric('count')).toFixed(1)} s on average; ${usage()}`,
  );
};

const cluster = await startCluster();
Object.assign(process.env, cluster.env);
const world = await createLimitedWorld();
try {
  const other = await world.createNamespace();
  await waitsOf(world, other);
  console.log(
    `before: ${await waitsOf(world, other)}; coordinator ${memoryOf(world.pid()).now} MiB`,
  );
  // Admission of this installation looks at labelled namespaces only.
  const isAsked = permitted && !beforeStart;
  const full = isAsked ? await world.createNamespace() : await cluster.createNamespace('full');
  if (!beforeStart) await writeBeside(world, full, other);
  await world.stopCoordinator();
  if (beforeStart) await fill(world, full);
  console.log(`${RULES} rules are there; ${usage()}`);
  const startedAt = performance.now();
  await world.startCoordinator();
  console.log(`a coordinator that starts: ready after ${seconds(since(startedAt))}`);
  console.log(
    `after its start: ${await waitsOf(world, other)}; at most ${memoryOf(world.pid()).peak} MiB`,
  );
  if (!beforeStart) {
    const removing = remove(world, full);
    console.log(`while the namespace is deleted: ${await waitsOf(world, other)}`);
    await removing;
    console.log(
      `afterwards: ${await waitsOf(world, other)}; coordinator ${memoryOf(world.pid()).now} MiB`,
    );
  }
} finally {
  await world.close();
  await cluster.stop();
}
