/**
 * The main job, step by step, as an operator would do it: every step ends only when the CNFs' own configuration files and
 * `kubectl` show it. Throws at the first thing that does not come true.
 */
import type { Cluster } from 'kind-test-harness';
import { holdsSeedRule, seedRules, type CnfConfig } from '../judge/seed-rules.ts';
import {
  observePods,
  observeRules,
  readCnf,
  ruleId,
  until,
  type ObservedPod,
} from '../stack/observe.ts';
import { goneSince, readJournal } from '../stack/journal.ts';
import type { Screen } from './screen.ts';
import { renderTable } from './table.ts';

export const PURPOSE = 'cnf-1';
const WAIT_MS = 90_000;
const DELETED = { kind: 'FirewallRule', name: 'reject-80' };
const DELETED_RULE = `${DELETED.kind}/${DELETED.name}`;

export type Scenario = {
  screen: Screen;
  cluster: Cluster;
  namespace: string;
};

type Look = {
  pods: readonly ObservedPod[];
  configs: ReadonlyMap<string, CnfConfig>;
  inSync: ReadonlyMap<string, boolean>;
  deleting: ReadonlySet<string>;
};

/** One look at rules, pods and files, shown as the table. */
const look = async ({ screen, cluster, namespace }: Scenario): Promise<Look> => {
  const [rules, pods] = await Promise.all([
    observeRules(cluster, namespace),
    observePods(cluster, namespace, PURPOSE),
  ]);
  const configs = new Map(
    await Promise.all(
      pods.map(
        async ({ name }) => [name, await readCnf(cluster, { namespace, pod: name })] as const,
      ),
    ),
  );
  const found: Look = {
    pods,
    configs,
    inSync: new Map(rules.map((rule) => [ruleId(rule), rule.status?.inSync === true])),
    deleting: new Set(
      rules.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(ruleId),
    ),
  };
  screen.table(renderTable(rules, pods, configs));
  return found;
};

const allHold = (
  { pods, configs, inSync }: Look,
  replicas: number,
  rules: readonly string[],
): boolean =>
  pods.length === replicas &&
  pods.every(
    ({ name, ready }) =>
      ready && rules.every((rule) => holdsSeedRule(configs.get(name) ?? new Map(), rule)),
  ) &&
  rules.every((rule) => inSync.get(rule) === true);

export const untilInSync = (
  scenario: Scenario,
  replicas: number,
  rules = seedRules,
): Promise<Look> =>
  until(`${rules.length} rules in sync on ${replicas} pods`, WAIT_MS, async () => {
    const now = await look(scenario);
    return allHold(now, replicas, rules) ? now : undefined;
  });

export const scaleTo = async (scenario: Scenario, replicas: number): Promise<void> => {
  const { cluster, namespace } = scenario;
  await cluster.kubectl([
    'scale',
    '-n',
    namespace,
    `deployment/${PURPOSE}`,
    `--replicas=${replicas}`,
  ]);
  await untilInSync(scenario, replicas);
};

/** Kills a CNF container: OpenWRT comes back with factory settings, and only the agent beside it knows the rules. */
export const resetOneCnf = async (scenario: Scenario): Promise<void> => {
  const { cluster, namespace, screen } = scenario;
  const [pod] = await observePods(cluster, namespace, PURPOSE);
  if (!pod) throw new Error('no CNF pod');
  screen.say(`${pod.name}: container sdewan is killed, and comes back with factory settings`);
  await cluster.killContainer({ namespace, pod: pod.name, container: 'sdewan' }, 'SIGKILL');
  await until(`${pod.name} without rules`, WAIT_MS, async () => {
    const { configs } = await look(scenario);
    const config = configs.get(pod.name) ?? new Map();
    return seedRules.some((rule) => !holdsSeedRule(config, rule)) ? true : undefined;
  });
  const { pods } = await untilInSync(scenario, 3);
  if (!pods.some(({ uid }) => uid === pod.uid)) throw new Error('the pod was replaced');
};

/** When each CNF wrote its file without the rule, by its own journal. */
const sayConfirmations = async (
  { screen, cluster, namespace }: Scenario,
  started: number,
): Promise<void> => {
  const since = (ms: number): string => `${((ms - started) / 1000).toFixed(2)} s`;
  for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
    const journal = await readJournal(cluster, { namespace, pod: name });
    const gone = goneSince(
      journal,
      'firewall',
      ({ target, src_port: port }) => target === 'REJECT' && port === '80',
    );
    if (gone === undefined) throw new Error(`${name}: the journal does not show the removal`);
    screen.say(`${name}: confirmed, gone after ${since(gone)}`);
  }
  screen.say(`${DELETED_RULE}: gone from Kubernetes, seen after ${since(Date.now())}`);
};

/** Deletes a rule; it must not go before it is gone from every CNF's file. */
export const deleteRule = async (scenario: Scenario): Promise<void> => {
  const { cluster, namespace } = scenario;
  const started = Date.now();
  await cluster.kubectl(['delete', '-n', namespace, DELETED.kind, DELETED.name, '--wait=false']);
  await until(`${DELETED_RULE} gone`, WAIT_MS, async () => {
    const { pods, configs, inSync } = await look(scenario);
    const stillOn = pods.filter(({ name: pod }) =>
      holdsSeedRule(configs.get(pod) ?? new Map(), DELETED_RULE),
    );
    if (inSync.has(DELETED_RULE)) return undefined;
    if (stillOn.length > 0) {
      throw new Error(
        `the CR is gone, its rule is still on ${stillOn.map((p) => p.name).join(', ')}`,
      );
    }
    return true;
  });
  await sayConfirmations(scenario, started);
  await untilInSync(
    scenario,
    3,
    seedRules.filter((rule) => rule !== DELETED_RULE),
  );
};
