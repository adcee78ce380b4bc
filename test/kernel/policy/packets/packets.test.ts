/**
 * The 53 cases with real packets: the product's table in the kernel of a namespace through which
 * the packets of nine others pass, by IPv4 and IPv6. Needs root, and the programs ip and nft.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { membersFile, removalFile, wholeFile, type PolicyTable } from '#shared/policy/nft-table.ts';
import {
  ALL_PAIRS,
  CASES,
  PODS,
  addressOfPod,
  deniedPairs,
  scenarioOf,
  type Probe,
  type Step,
} from '../cases.ts';
import type { PodOf, Scenario } from '../evaluator.ts';
import { tableOf } from '../product.ts';
import { createNetwork, GATEWAY, ZONE_TABLE, type Network } from './network.ts';

/**
 * What is to be denied would arrive at once; what is to pass may take its time on a busy machine,
 * and is sent again meanwhile.
 */
const DENIED_MS = 500;
const PASSES_MS = 20_000;

let network: Network;
beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

/**
 * Policies for blocks of either family, each of which leaves the other family to its twin: they
 * unite.
 */
const scenarioOfBoth = (step: Step): Scenario => {
  const [four, six] = [scenarioOf(step, 4), scenarioOf(step, 6)];
  return { ...four, policies: [...four.policies, ...six.policies] };
};

let loaded: PolicyTable | undefined;
/** As the agent does it: members alone where rules are the same. */
const bring = async (table: PolicyTable): Promise<'members' | 'whole'> => {
  const members = loaded && membersFile(table, loaded);
  await network.load(members ?? wholeFile(table));
  loaded = table;
  return members === undefined ? 'whole' : 'members';
};

const BOTH = [4, 6] as const;
const CONNECT = `const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), host, () => { process.stdout.write('connected'); socket.destroy(); });
socket.on('error', ({ message }) => { process.stderr.write(message); process.exit(1); });
socket.setTimeout(${PASSES_MS}, () => { process.stderr.write('no answer'); process.exit(1); });`;
type Tried = { pair: string; family: 4 | 6 };

const tryAll = async (
  { protocol, port }: Probe,
  denied: ReadonlySet<string>,
): Promise<string[]> => {
  const all = BOTH.flatMap((family) => ALL_PAIRS.map((pair): Tried => ({ pair, family })));
  const answers = await Promise.all(
    all.map(({ pair, family }) => {
      const [from = '', to = ''] = pair.split('>');
      const waitMs = denied.has(pair) ? DENIED_MS : PASSES_MS;
      return network.probe(from, { to: addressOfPod(to, family), protocol, port, waitMs });
    }),
  );
  return all
    .filter((_, at) => answers[at] !== true)
    .map(({ pair, family }) => `${pair} IPv${family}`);
};

/** Each is sent again until all that must pass have; what must not has been sent as often. */
const trySctp = async (probe: Probe, denied: ReadonlySet<string>): Promise<string[]> => {
  const all = BOTH.flatMap((family) => ALL_PAIRS.map((pair) => `${pair} IPv${family}`));
  const missing = new Set(all);
  const until = Date.now() + PASSES_MS;
  do {
    await tryAll(probe, denied);
    for (const to of PODS) {
      const arrived = new Set(await network.arrivedBySctp(to));
      const senders = BOTH.flatMap((family) =>
        PODS.filter((from) => arrived.has(`${addressOfPod(from, family)} . ${probe.port}`)).map(
          (from) => `${from}>${to} IPv${family}`,
        ),
      );
      for (const pair of senders) missing.delete(pair);
    }
  } while (missing.size > 2 * denied.size && Date.now() < until);
  return [...missing];
};

const inBoth = (pairs: ReadonlySet<string>): string[] =>
  [...pairs].flatMap((pair) => BOTH.map((family) => `${pair} IPv${family}`)).sort();

describe('the kernel says of packets what the table of cases says', () => {
  test.each(CASES)('$number: $title', async ({ steps }) => {
    for (const step of steps) {
      await bring(tableOf(scenarioOfBoth(step)));
      await network.forgetFlows();
      for (const probe of step.probes) {
        const denied = deniedPairs(probe.denied);
        const found = await (probe.protocol === 'SCTP' ? trySctp : tryAll)(probe, denied);
        expect(found.sort()).toStrictEqual(inBoth(denied));
      }
    }
  });
});

describe('what changes', () => {
  const onlyFrom = (label: boolean): Step => ({
    policies: () => [
      {
        namespace: 'x',
        name: 'policy',
        spec: {
          podSelector: { matchLabels: { pod: 'a' } },
          policyTypes: ['Ingress'],
          ingress: [{ from: [{ podSelector: { matchLabels: { friend: 'yes' } } }] }],
        },
      },
    ],
    ...(label && { labels: { 'x/b': { friend: 'yes' } } }),
    probes: [],
  });
  const to = addressOfPod('x/a', 4);
  const isAnswered = (waitMs: number): Promise<boolean> =>
    network.probe('x/b', { to, protocol: 'TCP', port: 80, waitMs });

  test('is judged at the next connection: one that is open goes on', async () => {
    await bring(tableOf(scenarioOf(onlyFrom(true), 4)));
    expect(await network.probe('x/b', { keep: { to, port: 80 } })).toBe(true);
    expect(await bring(tableOf(scenarioOf(onlyFrom(false), 4)))).toBe('members');
    expect(await network.probe('x/b', { ask: true, waitMs: PASSES_MS })).toBe(true);
    expect(await isAnswered(DENIED_MS)).toBe(false);
    expect(await bring(tableOf(scenarioOf(onlyFrom(true), 4)))).toBe('members');
    expect(await isAnswered(PASSES_MS)).toBe(true);
  });

  test('three hundred times: new connections meanwhile are judged as before and after', async () => {
    const idle = (at: number): PodOf[] =>
      Array.from({ length: 200 }, (_, of) => ({
        namespace: 'x',
        name: `idle-${of}`,
        labels: { friend: of % 3 === at % 3 ? 'yes' : 'no' },
        addresses: [`10.9.${at % 7}.${of}`],
        ports: [],
      }));
    const tableAt = (at: number): PolicyTable => {
      const { pods, ...scenario } = scenarioOf(onlyFrom(true), 4);
      return tableOf({ ...scenario, pods: [...pods, ...idle(at)] });
    };
    await bring(tableAt(0));
    await network.forgetFlows();
    const over = new AbortController();
    const wrong: string[] = [];
    let tried = 0;
    const keepTrying = async (from: string, waitMs: number, isAllowed: boolean): Promise<void> => {
      while (!over.signal.aborted) {
        const passed = await network.probe(from, { to, protocol: 'TCP', port: 80, waitMs });
        tried += 1;
        if (passed !== isAllowed) wrong.push(from);
      }
    };
    const trying = [
      keepTrying('x/b', PASSES_MS, true),
      ...['x/c', 'y/a', 'z/b'].map((from) => keepTrying(from, 200, false)),
    ];
    for (let at = 1; at <= 300; at += 1) {
      if (at % 10 === 0) loaded = undefined;
      await bring(tableAt(at));
    }
    over.abort();
    await Promise.all(trying);
    expect(wrong).toEqual([]);
    expect(tried).toBeGreaterThan(50);
  });

  test('takes an address out at once that a pod outside the group uses again', async () => {
    const { pods, ...scenario } = scenarioOf(onlyFrom(true), 4);
    await bring(tableOf({ ...scenario, pods }));
    expect(await isAnswered(PASSES_MS)).toBe(true);
    const former = pods.find(({ namespace, name }) => namespace === 'x' && name === 'b');
    const reused = { addresses: former?.addresses ?? [], labels: {}, ports: [], namespace: 'y' };
    const others = pods.filter((pod) => pod !== former);
    await bring(tableOf({ ...scenario, pods: [...others, { ...reused, name: 'new' }] }));
    expect(await isAnswered(DENIED_MS)).toBe(false);
  });

  test('is counted where it is denied, for each policy of the pod in that direction, and nowhere else', async () => {
    const packets = async (): Promise<Record<string, number>> => {
      const text = await network.inCnf('nft', 'list', 'counters', 'table', 'inet', 'sdewan_policy');
      const found = text.matchAll(/counter (\w+) \{\s+packets (\d+)/g);
      return Object.fromEntries([...found].map(([, name = '', count]) => [name, Number(count)]));
    };
    const { policies, ...scenario } = scenarioOf(onlyFrom(true), 4);
    const shut = { podSelector: { matchLabels: { pod: 'a' } }, policyTypes: ['Ingress', 'Egress'] };
    const others = { podSelector: { matchLabels: { pod: 'c' } }, policyTypes: ['Ingress'] };
    const more = [shut, others].map((spec, at) => ({ namespace: 'x', name: `more-${at}`, spec }));
    loaded = undefined;
    await bring(tableOf({ ...scenario, policies: [...policies, ...more] }));
    await network.forgetFlows();
    const none = { in_p0: 0, in_p1: 0, in_p2: 0, eg_p1: 0 };
    expect(await isAnswered(PASSES_MS)).toBe(true);
    expect(await packets()).toEqual(none);
    const denied = { to, protocol: 'TCP', port: 80, waitMs: DENIED_MS } as const;
    expect(await network.probe('y/b', denied)).toBe(false);
    const after = await packets();
    expect(after['in_p0']).toBeGreaterThan(0);
    expect(after).toEqual({ ...none, in_p0: after['in_p0'], in_p1: after['in_p0'] });
  });

  test('is nothing to packets from and to the CNF itself, though its own pod may send and get none', async () => {
    const { pods, ...scenario } = scenarioOf(onlyFrom(false), 4);
    const spec = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };
    const cnf = { namespace: 'x', name: 'cnf', labels: {}, addresses: [GATEWAY[4]], ports: [] };
    const policies = [{ namespace: 'x', name: 'deny', spec }];
    await bring(tableOf({ ...scenario, pods: [...pods, cnf], policies }));
    expect(await isAnswered(DENIED_MS)).toBe(false);
    const connected = network.inCnf(process.execPath, '-e', CONNECT, to, '80');
    await expect(connected).resolves.toBe('connected');
  });

  test('leaves nothing of tables that are removed, and everything passes', async () => {
    await bring(tableOf(scenarioOf(onlyFrom(false), 4)));
    await network.load(removalFile());
    expect(await network.inCnf('nft', 'list', 'tables')).toBe(`table inet ${ZONE_TABLE}\n`);
    expect(await isAnswered(PASSES_MS)).toBe(true);
    // As often as one likes.
    await network.load(removalFile());
  });
});
