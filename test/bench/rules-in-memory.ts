/**
 * What 10,000 rules of the largest permitted size take in the coordinator's memory, without an API server, which would need an hour to take them:
 * `node --expose-gc test/bench/rules-in-memory.ts [--rules 10000]`. They come in pages, as a list gives them, into the store that the coordinator has.
 */
import { PassThrough } from 'node:stream';
import { parseArgs } from 'node:util';
import { revisionOf } from '#shared/compile/revision.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject, ResourceType, RuleObject } from '#shared/kube/objects.ts';
import { agentKinds } from '#shared/resources/registry.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { tiesOf } from '../../coordinator/admission/ties.ts';
import { Rules } from '../../coordinator/rules/rules.ts';
import { largestFirewallRule, largestSite } from '../attacks/largest.ts';

const { values } = parseArgs({ options: { rules: { type: 'string', default: '10000' } } });
const RULES = Number(values.rules);
const MIB = 1_048_576;

const collect = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / MIB;
};

const attacks = { FirewallRule: largestFirewallRule, IpsecSite: largestSite };

/** What is collected meanwhile would be counted for the next one. */
const stores: Rules[] = [];

for (const [kind, make] of Object.entries(attacks)) {
  const before = collect();
  let bytes = 0;
  const stop = new AbortController();
  const list = async ({ schema }: ResourceType<KubeObject>) => {
    const items = [];
    for (let at = 0; at < RULES; at += 1) {
      const made = make('full', `rule-${at}`);
      const identity = {
        uid: `uid-${at}`,
        resourceVersion: '1',
        creationTimestamp: '2026-01-01T00:00:00Z',
      };
      const text = JSON.stringify({ ...made, metadata: { ...made.metadata, ...identity } });
      bytes += text.length;
      items.push(schema.parse(JSON.parse(text)));
    }
    return { items, resourceVersion: '1' };
  };
  const listed = Promise.withResolvers<void>();
  const watch = async (): Promise<PassThrough> => {
    listed.resolve();
    return new PassThrough();
  };
  const rules = new Rules({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is called
    client: { list, watch } as never as KubeClient,
    namespace: undefined,
    kinds: agentKinds.filter((each) => each.kind === kind),
    revisionOf: (object: RuleObject) => revisionOf(object),
    tiesOf,
    isRead: () => false,
    clock: systemClock,
    log: silentLogger,
    onChange: () => undefined,
  });
  stores.push(rules);
  void rules.run(stop.signal);
  await listed.promise;
  const all = collect() - before;
  const kept = [...rules.uids()].length;
  console.log(
    `${kept} rules of kind ${kind}, ${Math.round(bytes / kept / 1_024)} KiB each: ${all.toFixed(0)} MiB, ${((all * 1_024) / kept).toFixed(1)} KiB each`,
  );
  stop.abort();
}
process.exit();
