/** CNFServices of several tenants at once. */
import { expect, it, vi } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cnfService } from '#shared/resources/rules/cnf-service.ts';
import { inFakeTime } from '../../../testing/fake-time.ts';
import { DEPS, served } from '../testing/served.ts';
import { AddressBook } from './address-book.ts';
import { createChildren } from './children.ts';

const { run } = inFakeTime();

const serviceOf = (namespace: string, name: string, fullname: string): RuleObject =>
  ruleOf('CNFService', name, { fullname, port: '80', dport: '80' }, { namespace, uid: name });

/** Names of `slow.test` get no answer. `good.test` has the address of its turn. */
const start = async (there: readonly RuleObject[]) => {
  const written: string[] = [];
  let asked = 0;
  let atOnce = 0;
  const { reads } = served(there);
  const create = async (_: unknown, { metadata, spec }: RuleObject) => {
    written.push(`${metadata.namespace}/${metadata.name} ${(spec as { dest_ip: string }).dest_ip}`);
    return ruleOf('CNFNAT', metadata.name, spec, metadata);
  };
  const replace = async (_: unknown, object: RuleObject) => object;
  const addresses = new AddressBook({
    lookup: async (name, signal) => {
      asked += 1;
      if (name === 'good.test') return { addresses: [`10.0.0.${asked}`], ttlSeconds: 30 };
      atOnce += 1;
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });
    },
    minTtlMs: 5_000,
    maxTtlMs: 60_000,
    clock: DEPS.clock,
  });
  const rules = {
    get: () => undefined,
    learn: () => undefined,
    uids: () => new Map<string, never>().keys(),
    unknown: new Map(),
  };
  const client = { ...reads, create, replace } as unknown as KubeClient;
  run(createChildren({ ...DEPS, client, rules, addresses, kinds: [cnfService] }));
  await vi.advanceTimersByTimeAsync(1_000);
  return { written, asked: () => asked, atOnce: () => atOnce };
};

const slow = Array.from({ length: 120 }, (_, at) =>
  serviceOf('mallory', `slow-${at}`, `n${at}.slow.test`),
);

it('names of one tenant that get no answer hold up no name of another, the same one included', async () => {
  const { atOnce, written } = await start([
    ...slow,
    serviceOf('mallory', 'same', 'good.test'),
    serviceOf('victim', 'web', 'good.test'),
  ]);
  expect(written).toEqual([expect.stringMatching(/^victim\/webnat /)]);
  expect(atOnce()).toBe(8);
});

it('looks a name up again when its answer has ended', async () => {
  const { asked, written } = await start([serviceOf('victim', 'web', 'good.test')]);
  expect(written[0]).toBe('victim/webnat 10.0.0.1');
  await vi.advanceTimersByTimeAsync(31_000);
  expect(asked()).toBe(2);
  expect(written.at(-1)).toBe('victim/webnat 10.0.0.2');
});
