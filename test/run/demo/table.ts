/** Rules × pods: what each CNF's own files hold, beside what kubectl says of the rule. */
import { holdsSeedRule, type CnfConfig } from '../../openwrt/checks/seed-rules.ts';
import { ruleId, type ObservedPod, type ObservedRule } from '../../stack/observe.ts';

const HELD = '●';
const NOT_HELD = '·';

export const renderTable = (
  rules: readonly ObservedRule[],
  pods: readonly ObservedPod[],
  configs: ReadonlyMap<string, CnfConfig>,
): string[] => {
  const header = ['RULE', ...pods.map(podTitle), 'IN SYNC', 'MESSAGE'];
  const rows = rules.map((rule) => [
    ruleId(rule) + (rule.metadata.deletionTimestamp === undefined ? '' : ' (deleting)'),
    ...pods.map(({ name }) =>
      holdsSeedRule(configs.get(name) ?? new Map(), ruleId(rule)) ? HELD : NOT_HELD,
    ),
    rule.status?.inSync === true ? 'true' : 'false',
    (rule.status?.message ?? '').slice(0, 60),
  ]);
  return align([header, ...rows]);
};

/** The part of a pod's name that tells it from its siblings, and whether it is ready. */
const podTitle = ({ name, ready, terminating }: ObservedPod): string =>
  `${name.split('-').at(-1)}${terminating ? ' (going)' : ready ? '' : ' (starting)'}`;

const align = (rows: readonly (readonly string[])[]): string[] => {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
};
