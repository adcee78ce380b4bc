/**
 * CNFSets and CNFs: made anew when they are deleted, written by the coordinator alone, and gone
 * with their CNFDeployment.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { VERSION } from '#shared/own-version.ts';
import { countersSchema } from '#shared/protocol/counters.ts';
import { ROOT } from '../../run/product-files.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { rule, zone } from '../../stack/rules.ts';
import { applyFleet, PURPOSE, serves, waitForFleet } from './cnf.ts';
import { journalOf, prioritiesIn } from './journal.ts';

const cluster = withOwnNamespaces(await connectCluster());

const listSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), uid: z.string() }),
      spec: z.looseObject({}),
      status: z.looseObject({}).optional(),
    }),
  ),
});
const listed = async (namespace: string, plural: string) => {
  const path = `/apis/fleet.sdewan.akraino.org/v1alpha1/namespaces/${namespace}/${plural}`;
  return listSchema.parse(await cluster.api.find(path)).items;
};
const one = async (namespace: string, plural: string) => {
  const [first, ...more] = await listed(namespace, plural);
  if (!first || more.length > 0) throw new Error(`there is not one of ${plural}`);
  return first;
};
const kubectl = (...args: string[]) => cluster.kubectl(args, { allowFailure: true });

it('mirrors set and pod in a CNFSet and a CNF that are made anew, and go without taking pods, rules or distances along', async () => {
  const namespace = await cluster.createNamespace('objects');
  const [at, cascade] = [
    ['-n', namespace],
    ['--cascade=orphan', '--timeout=500s'],
  ];
  const address = { network: 'ovn-net1', addresses: ['192.168.1.1/24'] };
  await apply(
    cluster,
    namespace,
    zone('lan1', 'ovn-net1'),
    rule('VirtualAddress', 'gateway', address),
  );
  const before = countedByKernel();
  await applyFleet(cluster, { namespace, replicas: 1, version: '1', lateMs: 0, rules: 0 });
  const { currentRevision } = await waitForFleet(cluster, namespace, 'it serves', serves(1));
  const [pod] = await observePods(cluster, namespace, PURPOSE);
  if (!pod) throw new Error('there is no pod');
  await until('both say how it is', async () => {
    const [set] = await listed(namespace, 'cnfsets');
    const [cnf] = await listed(namespace, 'cnfs');
    // A pod is in sync before it is ready, and what follows is written two seconds later.
    const isCurrent = set?.status?.['stage'] === 'Current' && set.status['ready'] === 1;
    return isCurrent && cnf?.status?.['phase'] === 'Running' ? true : undefined;
  });
  const set = await one(namespace, 'cnfsets');
  expect(set).toMatchObject({
    metadata: { name: `${PURPOSE}-${currentRevision}` },
    spec: { templateHash: currentRevision },
    status: { stage: 'Current', outcome: 'Proven', ready: 1 },
  });
  const cnf = await one(namespace, 'cnfs');
  expect(cnf).toMatchObject({ metadata: { name: pod.name }, status: { phase: 'Running' } });

  // Sets of before are never ready again: the README's wait is for rules alone.
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const [, wait = ''] = /^kubectl (wait .* sdewan .*)$/m.exec(readme) ?? [];
  const waited = await kubectl(...wait.split(' '), ...at);
  expect([wait, waited.code, waited.stdout.trim().split('\n').toSorted()]).toEqual([
    expect.stringContaining(`sdewanPurpose=${PURPOSE}`),
    0,
    [
      'firewallzone.batch.sdewan.akraino.org/lan1 condition met',
      'virtualaddress.batch.sdewan.akraino.org/gateway condition met',
    ],
  ]);

  const changes = ([kind, { name }]: readonly [string, { name: string }]) =>
    [
      '{"status": {"message": "forged"}}',
      '{"spec": {"deployment": "other"}}',
      '{"metadata": {"ownerReferences": null}}',
    ].map(async (change) => {
      const patch = ['patch', kind, name, ...at, '--type=merge', '-p', change];
      const { code, stderr } = await kubectl(...patch);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`alone writes ${kind}s`)]);
    });
  const both = [
    ['cnf', cnf.metadata],
    ['cnfset', set.metadata],
  ] as const;
  await Promise.all(both.flatMap(changes));
  expect((await kubectl('annotate', 'cnf', pod.name, ...at, 'theirs=x')).code).toBe(0);

  const seen = await until('the CNF has addresses and counters', async () => {
    const { status } = await one(namespace, 'cnfs');
    return status?.['networks'] && status['counters'] ? status : undefined;
  });
  expect(seen).toMatchObject({
    agentVersion: VERSION,
    networks: expect.arrayContaining([{ device: 'net1', addresses: [expect.any(String)] }]),
  });
  const { interfaces } = countersSchema.parse(seen['counters']);
  const after = countedByKernel();
  expect(interfaces.map(({ name }) => name).toSorted()).toEqual([...before.keys()].toSorted());
  for (const { name, ...counters } of interfaces)
    for (const [what, count] of Object.entries(counters)) {
      expect(count).toBeGreaterThanOrEqual(before.get(name)?.get(what) ?? Infinity);
      expect(count).toBeLessThanOrEqual(after.get(name)?.get(what) ?? -Infinity);
    }

  const restart = 'fleet.sdewan.akraino.org/restart-service';
  expect((await kubectl('annotate', 'cnf', pod.name, ...at, `${restart}=firewall`)).code).toBe(0);
  const said = await until('its agent has restarted the firewall', async () => {
    const only = ['--field-selector=reason=ServiceRestarted', '-o', 'jsonpath={..message}'];
    const { stdout } = await kubectl('get', 'events', ...at, ...only);
    return stdout === '' ? undefined : stdout;
  });
  expect(said).toMatch(/^the agent has restarted firewall: \S+ has asked for it$/);
  const left = await kubectl(
    'get',
    'cnf',
    pod.name,
    ...at,
    '-o',
    'jsonpath={.metadata.annotations}',
  );
  expect(left.stdout).toBe('{"theirs":"x"}');

  await Promise.all(
    both.map(async ([kind, { name, uid }]) => {
      expect((await kubectl('delete', kind, name, ...at)).code).toBe(0);
      await until(`the ${kind} is there again`, async () => {
        const [again] = await listed(namespace, `${kind}s`);
        return again && again.metadata.uid !== uid && again.status ? true : undefined;
      });
    }),
  );
  expect(await observePods(cluster, namespace, PURPOSE)).toMatchObject([{ uid: pod.uid }]);

  expect((await kubectl('delete', 'cnfdeploy', PURPOSE, ...at, ...cascade)).code).toBe(0);
  await until('no CNFSet and no CNF is left', async () => {
    const left = [...(await listed(namespace, 'cnfs')), ...(await listed(namespace, 'cnfsets'))];
    return left.length === 0 ? true : undefined;
  });
  expect(await observePods(cluster, namespace, PURPOSE)).toMatchObject([{ uid: pod.uid }]);

  // The agent goes on without a CNFDeployment: it takes a rule, and takes back none and no
  // distance.
  const more = zone('lan2', 'ovn-net2');
  await apply(cluster, namespace, more);
  await waitInSync(cluster, namespace, [more]);
  const journal = await journalOf(cluster, namespace, pod.name);
  const nearSince = prioritiesIn(journal).findIndex(({ priority }) => priority === NEAREST);
  expect(nearSince).toBeGreaterThanOrEqual(0);
  expect(
    new Set(
      prioritiesIn(journal)
        .slice(nearSince)
        .map(({ priority }) => priority),
    ),
  ).toEqual(new Set([NEAREST]));
  const zones = journal
    .filter(({ package: of, text }) => of === 'firewall' && text !== undefined)
    .map(({ text = '' }) => ['lan1', 'lan2'].filter((name) => text.includes(`'${name}'`)).join());
  expect(zones.slice(zones.indexOf('lan1')).filter((one) => !one.startsWith('lan1'))).toEqual([]);
  expect(zones.at(-1)).toBe('lan1,lan2');
});

const COUNTERS = ['rxBytes', 'rxPackets', 'rxDropped', 'txBytes', 'txPackets', 'txDropped'];
/**
 * Counters of each device of this machine, which pods that are processes share: not by the file
 * that the agent reads.
 */
const countedByKernel = (): Map<string, Map<string, number>> => {
  const folder = '/sys/class/net';
  const fileOf = (what: string): string => what.replace(/[A-Z]/, (big) => `_${big.toLowerCase()}`);
  const file = (name: string, of: string): number =>
    Number(readFileSync(path.join(folder, name, 'statistics', of), 'utf8'));
  const read = (name: string, what: string): number =>
    file(name, fileOf(what)) + (what === 'rxDropped' ? file(name, 'rx_missed_errors') : 0);
  return new Map(
    readdirSync(folder)
      .filter((name) => name !== 'lo' && existsSync(path.join(folder, name, 'statistics')))
      .map((name) => [name, new Map(COUNTERS.map((what) => [what, read(name, what)]))]),
  );
};

/** The priority of VRRP, at distance 0. */
const NEAREST = 200;
