/**
 * A tenant with `create` and `patch` on rules of one namespace has many of them reviewed, each such
 * that the review is as much work as it can be: pods of other namespaces are created all the same.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NewObject } from '#shared/kube/client.ts';
import { objectSchema } from '#shared/kube/objects.ts';
import { RULE_GROUP, RULE_VERSION } from '#shared/names.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { createFixture, type Fixture } from '../../integration/admission/fixture.ts';
import { makeMany } from '../many.ts';

/** With as many, five of eight pods were refused when a review had no bound. */
const CLIENTS = 30;
/** As many as one review looks at, and more. */
const RULES = 80;
const PODS = 8;

const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', schema: objectSchema };

let fixture: Fixture;
beforeAll(async () => {
  // As patient as webhooks are in the manifests.
  fixture = await createFixture({}, undefined, {});
});
afterAll(() => fixture.close());

const rule = (name: string, spec: object, annotations: object = {}): NewObject => ({
  apiVersion: `${RULE_GROUP}/${RULE_VERSION}`,
  kind: 'FirewallRule',
  metadata: { name, labels: { sdewanPurpose: 'cnf-1' }, annotations },
  spec: { src: '*', dest: '*', proto: 'tcp udp', target: 'DROP', ...spec },
});

const listOf = (count: number, item: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => item(at)).join(' ');

/** As many conditions as 512 characters take. */
const manyConditions = (at: number): object => ({
  src_ip: listOf(8, (one) => `100.${(at * 7 + one * 3) % 200}.${one}.0/${17 + (one % 7)}`),
  dest_ip: listOf(8, (one) => `101.${(at * 5 + one) % 200}.${one}.0/${17 + (at % 7)}`),
  src_port: listOf(5, (one) => `${1_000 * (one + 1) + at * 3}-${1_000 * (one + 1) + 700 + at}`),
  dest_port: listOf(5, (one) => `${1_000 * (one + 1) + at * 2}-${1_000 * (one + 1) + 600 + at}`),
});

/** Which of eight pods of a CNF another namespace cannot create while `attack` goes on, and why. */
const refusedDuring = async (attack: (round: number) => Promise<unknown>): Promise<string[]> => {
  const namespace = await fixture.createNamespace();
  const end = new AbortController();
  let rounds = 0;
  const client = async (): Promise<void> => {
    while (!end.signal.aborted) await attack((rounds += 1));
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  await expect.poll(() => rounds, { timeout: 60_000 }).toBeGreaterThan(2 * CLIENTS);
  const refused: string[] = [];
  for (let at = 0; at < PODS; at += 1)
    await fixture.client
      .create(pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `pod-${at}`, namespace, labels: { sdewanPurpose: `cnf-${at}` } },
        spec: { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }] },
      })
      .catch((error: unknown) => refused.push(String(error)));
  end.abort();
  await clients;
  console.log(`${rounds} reviews by ${CLIENTS} clients`);
  return refused;
};

describe('reviews', () => {
  it.each([{ dryRun: true }, { dryRun: false }])(
    'leave pods of other namespaces alone, of a rule before many others: dry run $dryRun',
    async ({ dryRun }) => {
      const namespace = await fixture.createNamespace();
      const create = ({ metadata, ...object }: NewObject): Promise<object> =>
        fixture.client.create(firewallRule, { ...object, metadata: { ...metadata, namespace } });
      await makeMany(RULES, (at) => create(rule(`rule-${at}`, manyConditions(at))));
      await create(rule('first', {}, { 'sdewan.akraino.org/order': '-5' }));
      const refused = await refusedDuring((round) =>
        fixture.client.patch(
          firewallRule,
          { namespace, name: 'first' },
          {
            dryRun,
            patch: {
              type: 'merge',
              body: { spec: { target: round % 2 === 0 ? 'DROP' : 'ACCEPT' } },
            },
          },
        ),
      );
      expect(refused).toEqual([]);
    },
  );
});
