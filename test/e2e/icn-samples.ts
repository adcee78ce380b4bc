/**
 * One CR of each kind as ICN's platform has them (`ofIcn` of the samples), given to a CNF of an
 * end-to-end test.
 */
import { expect } from 'vitest';
import type { Cluster } from 'kind-test-harness';
import * as z from 'zod';
import { allSamples, samplesOf } from '../samples/all.ts';
import { expectedSection, type Spec } from '../samples/uci-table.ts';
import type { DeviceSection } from '../openwrt/checks/uci.ts';
import { apply, waitForRules } from '../stack/operator.ts';
import { ruleId } from '../stack/observe.ts';
import { idOf, rule, type Rule } from '../stack/rules.ts';

/** What the samples name and a test's cluster does not have. */
const INSTEAD: Readonly<Record<string, string>> = {
  'mail.local.example.com': '10.9.9.9',
  'mail.example.com': '192.0.2.20',
  'web.example.com': '192.0.2.10',
  '10.1.2.3': '127.0.0.1',
  '#default': 'eth0',
};

const samplesFor = (purpose: string): Rule[] =>
  allSamples.flatMap(({ kind, ofIcn }) =>
    ofIcn.map(({ name, spec }) => rule(kind, name, withInstead(spec), purpose)),
  );

const withInstead = (spec: Spec): Spec => {
  const text = Object.entries(INSTEAD).reduce(
    (sofar, [from, to]) => sofar.replaceAll(from, to),
    JSON.stringify(spec),
  );
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
};

/** Over ubus only: the option is one for all remotes, so it is the administrator's. */
const WAITS = { name: 'host1', for: /rtinstall_enabled/ };

/**
 * All are accepted, and in sync on every pod, or say what they wait for. Gives those that are in
 * sync.
 */
export const applySamples = async (
  cluster: Cluster,
  { namespace, purpose }: { namespace: string; purpose: string },
): Promise<Rule[]> => {
  const samples = samplesFor(purpose);
  await apply(cluster, namespace, ...samples);
  const wanted = new Map(samples.map((sample) => [idOf(sample), sample]));
  const seen = await waitForRules(cluster, namespace, { what: "ICN's samples" }, (rules) => {
    const settled = rules.filter(
      ({ metadata, status }) =>
        status?.inSync === true ||
        (metadata.name === WAITS.name && WAITS.for.test(status?.message ?? '')),
    );
    const ids = new Set(settled.map(ruleId));
    return [...wanted.keys()].every((id) => ids.has(id));
  });
  return seen
    .filter(({ status }) => status?.inSync === true)
    .flatMap((each) => wanted.get(ruleId(each)) ?? []);
};

/** Options that tell a device, which is another in every cluster. */
const OF_DEVICES = new Set(['device', 'interface']);
/** Its sections are one per pod; here it selects none. */
const WITHOUT_SECTIONS = 'SdewanApplication';

/** Each is in the files as the table of fields says. */
export const expectSamplesIn = (
  sections: readonly DeviceSection[],
  samples: readonly Rule[],
): void => {
  for (const { kind, metadata, spec } of samples.filter((each) => each.kind !== WITHOUT_SECTIONS)) {
    const expected = expectedSection(samplesOf(kind).fields, metadata.name, spec);
    const told = Object.entries(expected.options).filter(([option]) => !OF_DEVICES.has(option));
    const found = sections.find(({ name }) => name === expected.section);
    expect(found, `section ${expected.section}`).toMatchObject({
      type: expected.type,
      options: Object.fromEntries(told),
    });
  }
};
