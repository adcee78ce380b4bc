import { describe, expect, it } from 'vitest';
import type { Information } from '#shared/protocol/information.ts';
import { cnfStatusSchema } from '#shared/resources/other-kinds/cnf-status.ts';
import { objectNameOf } from './controller.ts';
import { classicStatusOf, statusOf, type ReportedPod } from './status.ts';
import { knownPod } from './testing.ts';

const information: Information = {
  interfaces: [
    { name: 'net1', device: 'net1', up: true, addresses: ['10.0.0.1/24', 'fd00::1/64'] },
  ],
  routes: [{ target: '0.0.0.0/0', gateway: '10.0.0.254', interface: 'net1' }],
  tunnels: [
    { name: 'site1-c1', up: true, state: 'ESTABLISHED' },
    { name: 'site1-c2', up: false, state: 'DOWN' },
  ],
  wans: [{ interface: 'net1', up: true, status: 'online' }],
  leftOut: 0,
};
const reported = { information, since: Date.UTC(2026, 0, 2, 3, 4, 5), upSince: new Map() };
const pod = (name: string, changes: Partial<ReportedPod> = {}): ReportedPod =>
  knownPod(name, { reported, ...changes });

describe('the status of a CNF', () => {
  it('counts what is up over all pods, and lists them by name', () => {
    const status = statusOf([pod('b'), pod('a', { problem: 'its agent has stopped reporting' })]);
    expect(status).toMatchObject({
      pods: { up: 1, total: 2, summary: '1/2' },
      tunnels: { summary: '1/2' },
      wans: { summary: '1/1' },
      message: 'its agent has stopped reporting (pod a)',
    });
    expect(status.information?.map(({ name, status: word }) => [name, word])).toEqual([
      ['a', 'Not Available'],
      ['b', 'Available'],
    ]);
    expect(status.information?.[1]).toMatchObject({
      node: 'node-1',
      ip: '10.1.1.1',
      observedTime: '2026-01-02T03:04:05Z',
      interfaces: information.interfaces,
      routes: information.routes,
    });
    expect(status.information?.[1]).not.toHaveProperty('leftOvers');
  });

  it('says why a pod is not ready, before what follows from it', () => {
    const notReady = 'container sdewan is not ready (ImagePullBackOff)';
    const pods = [
      pod('a', { ready: false, notReady }),
      pod('b', { ready: false, notReady, problem: 'OpenWRT does not answer' }),
    ];
    expect(statusOf(pods)).toMatchObject({
      message: `${notReady} (pod a); ${notReady}; OpenWRT does not answer (pod b)`,
      information: [{ message: notReady }, { message: `${notReady}; OpenWRT does not answer` }],
    });
  });

  it('names the problems of five pods, and how many more there are', () => {
    const pods = Array.from({ length: 7 }, (_, at) => pod(`p${at}`, { problem: `wrong ${at}` }));
    expect(statusOf(pods).message).toBe(
      'wrong 0 (pod p0); wrong 1 (pod p1); wrong 2 (pod p2); wrong 3 (pod p3); wrong 4 (pod p4); and 2 more',
    );
  });

  it('names a pod that is not of the CNF, and does not count it', () => {
    const problem = 'the pod is not counted';
    const status = statusOf([pod('a'), pod('ownerless', { ownerless: true, problem })]);
    expect(status).toMatchObject({
      pods: { summary: '1/1' },
      message: `${problem} (pod ownerless)`,
      information: [{ name: 'a' }, { name: 'ownerless', message: problem }],
    });
  });

  it("lists what ICN's controller left", () => {
    const leftOvers = [{ package: 'mwan3', type: 'policy', name: 'balance' }];
    const reported = { information: { ...information, leftOvers }, since: 0, upSince: new Map() };
    const status = statusOf([pod('a', { reported })]);
    expect(cnfStatusSchema.parse(status).information?.[0]?.leftOvers).toEqual(leftOvers);
  });

  it("is JSON text of ICN's modules in the object for all", () => {
    const [first, second] =
      classicStatusOf([pod('a'), pod('b', { reported: undefined })]).information ?? [];
    const modules: { name: string; status: unknown }[] = JSON.parse(first?.status ?? '');
    expect(modules.map(({ name }) => name)).toEqual(['interface', 'ipsec', 'route', 'wan']);
    expect(modules[0]?.status).toEqual([
      { name: 'net1', ip_address: ['10.0.0.1'], ip6_address: ['fd00::1/64'], status: 'UP' },
    ]);
    expect(modules[1]?.status).toMatchObject({ InitConnection: 'fail' });
    expect(second?.status).toBe('Not Available');
  });

  it('stays within bounds, however many pods there are and whatever they report', () => {
    const much = {
      ...information,
      routes: Array.from({ length: 128 }, () => ({ target: 'x'.repeat(48), interface: 'net1' })),
    };
    const pods = Array.from({ length: 500 }, (_, at) =>
      pod(`pod-${at}`, {
        reported: { information: much, since: 0, upSince: new Map() },
        problem: at % 2 ? 'x'.repeat(900) : undefined,
      }),
    );
    for (const status of [statusOf(pods), classicStatusOf(pods)]) {
      expect(cnfStatusSchema.safeParse(status).success).toBe(true);
      expect(JSON.stringify(status).length).toBeLessThan(600_000);
      expect(status.pods?.summary).toBe('250/500');
    }
  });
});

it.each([
  ['cnf-1', 'cnf-1'],
  ['CNF_1', 'cnf-1-e45b19f6'],
])('names the object of purpose %s: %s', (purpose, name) => {
  expect(objectNameOf(purpose)).toMatch(new RegExp(`^${name.slice(0, 5)}`));
  expect(objectNameOf(purpose)).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
});

it('purposes that would give the same object name have objects of their own', () => {
  const names = ['cnf-1', 'CNF-1', 'Cnf-1', 'cnf_1', 'cnf--1'].map(objectNameOf);
  expect(new Set(names).size).toBe(names.length);
});
