import { afterEach, beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { ReportTarget } from './client.ts';
import { createCoordinators, type Coordinators } from './coordinators.ts';

let clock: ManualClock;
let stop: AbortController;
let running: Promise<void>;
let addresses: Record<string, readonly string[] | 'no answer'>;
/** Those that are reported to now. */
let open: Map<string, ReportTarget>;
let marked: string[];
/** Whose connection was closed. */
let closed: string[];
/** What the coordinator at an address says; none: it does not answer. */
let words: Record<string, boolean>;

beforeEach(() => {
  clock = createManualClock();
  [stop, open, marked, closed, words] = [new AbortController(), new Map(), [], [], {}];
});
afterEach(async () => {
  stop.abort();
  await running;
});

const start = (...urls: string[]): Coordinators => {
  const coordinators = createCoordinators({
    urls,
    resolve: async (host) => {
      const found = addresses[host];
      if (typeof found === 'object') return found;
      if (found === undefined) throw new Error('ENOTFOUND');
      return new Promise(() => undefined);
    },
    clientOf: (target) =>
      ({
        target,
        wasApiServerAway: async () => {
          const word = words[target.url.hostname];
          if (word === undefined) throw new Error('no answer');
          return word;
        },
        close: () => closed.push(target.url.hostname),
      }) as never,
    publisherOf: (client) => {
      const { target } = client as never as { target: ReportTarget };
      const { href } = target.url;
      return {
        mark: () => marked.push(href),
        run: async (signal) => {
          open.set(href, target);
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          open.delete(href);
        },
      };
    },
    clock,
    log: silentLogger,
  });
  running = coordinators.run(stop.signal);
  return coordinators;
};

const pass = async (ms: number): Promise<void> => {
  for (let passed = 0; passed <= ms; passed += 100) {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.advance(100);
  }
};

const name = 'reports.system.svc';
const url = `https://${name}:8443`;

it('reports to each address of a name, under that name, as they come and go', async () => {
  addresses = { [name]: ['10.0.0.1'] };
  const coordinators = start(url);
  await pass(0);
  const [only] = open.values();
  expect([only?.url.href, only?.serverName, only?.others()]).toEqual([
    'https://10.0.0.1:8443/',
    name,
    0,
  ]);
  addresses = { [name]: ['10.0.0.1', 'fd00::2'] };
  await pass(7_000);
  expect([...open.keys()]).toEqual(['https://10.0.0.1:8443/', 'https://[fd00::2]:8443/']);
  expect(only?.others()).toBe(1);
  coordinators.mark();
  expect(marked).toHaveLength(2);
  addresses = { [name]: ['fd00::2'] };
  await pass(7_000);
  expect([...open.keys()]).toEqual(['https://[fd00::2]:8443/']);
  expect(closed).toEqual(['10.0.0.1']);
});

it.each([undefined, 'no answer'] as const)(
  'keeps those that are known while the name cannot be resolved: %s',
  async (answer) => {
    addresses = { [name]: ['10.0.0.1'] };
    start(url);
    await pass(0);
    addresses = answer === undefined ? {} : { [name]: answer };
    await pass(60_000);
    expect(open.size).toBe(1);
  },
);

it('finds a name that does not resolve yet within two seconds after it does', async () => {
  addresses = {};
  start(url);
  await pass(20_000);
  expect(open.size).toBe(0);
  addresses = { [name]: ['10.0.0.1'] };
  await pass(2_000);
  expect(open.size).toBe(1);
});

it('reports to each of several URLs once, to IP addresses as they are', async () => {
  addresses = { [name]: ['10.0.0.1'] };
  start('https://10.0.0.1:8443', 'https://[fd00::3]:8443', url);
  await pass(0);
  const targets = [...open.values()].map(({ url: at, serverName }) => [at.href, serverName]);
  expect(targets).toEqual([
    ['https://10.0.0.1:8443/', name],
    ['https://[fd00::3]:8443/', undefined],
  ]);
});

it.each([
  ['each says so', { '10.0.0.1': true, '10.0.0.2': true }, true],
  ['the one that answers says so', { '10.0.0.2': true }, true],
  ['one of them reaches it', { '10.0.0.1': true, '10.0.0.2': false }, false],
  ['none of them answers', {}, false],
])('tells whether the API server is away: %s', async (_what, said, wasAway) => {
  addresses = { [name]: ['10.0.0.1', '10.0.0.2'] };
  words = said;
  const coordinators = start(url);
  const { signal } = new AbortController();
  expect(await coordinators.sayApiServerWasAway(signal)).toBe(false);
  await pass(0);
  expect(await coordinators.sayApiServerWasAway(signal)).toBe(wasAway);
});
