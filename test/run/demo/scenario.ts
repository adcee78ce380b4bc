/**
 * The main job, step by step, as an operator would do it: every step ends only when the CNFs' own
 * configuration files and `kubectl` show it. Throws at the first thing that does not come true.
 */
import type { Cluster } from 'kind-test-harness';
import { goneSince } from '../../openwrt/checks/in-force.ts';
import { holdsSeedRule, seedRules, type CnfConfig } from '../../openwrt/checks/seed-rules.ts';
import { longestLie } from '../../openwrt/checks/true-statuses.ts';
import {
  observePods,
  observeRules,
  readCnf,
  ruleId,
  until,
  type ObservedPod,
} from '../../stack/observe.ts';
import { readJournal } from '../../stack/journal.ts';
import { statusesOf, witness } from '../../stack/witness.ts';
import type { Screen } from './screen.ts';
import { renderTable } from './table.ts';

export const PURPOSE = 'cnf-1';
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
  until(`${rules.length} rules in sync on ${replicas} pods`, async () => {
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

/**
 * A rule may say that it is in sync for this long after a pod's own status says that the pod is not
 * Ready.
 */
const MAX_LIE_MS = 1_000;

/**
 * Kills a CNF container: OpenWRT comes back with factory settings, and only the agent beside it
 * knows the rules.
 */
export const resetOneCnf = async (scenario: Scenario): Promise<void> => {
  const { cluster, namespace, screen } = scenario;
  const [pod] = await observePods(cluster, namespace, PURPOSE);
  if (!pod) throw new Error('no CNF pod');
  const target = { namespace, pod: pod.name };
  const from = Date.now();
  screen.say(`${pod.name}: container sdewan is killed, and comes back with factory settings`);
  await cluster.killContainer({ ...target, container: 'sdewan' }, 'SIGKILL');
  await until(`${pod.name} starts again`, async () => {
    await look(scenario);
    // The container's own record, so that it counts however fast the agent was.
    const journal = await readJournal(cluster, target).catch(() => []);
    return journal.some(({ event, ms }) => event === 'start' && ms > from) ? true : undefined;
  });
  const { pods } = await untilInSync(scenario, 3);
  if (!pods.some(({ uid }) => uid === pod.uid)) throw new Error('the pod was replaced');

  const seen = statusesOf(await witness(cluster, namespace));
  const lie = longestLie(seen, { from, until: Date.now() });
  if (lie > MAX_LIE_MS)
    throw new Error(`a rule said that it is in sync for ${lie} ms while a pod was not Ready`);
  screen.say(`no rule said that it is in sync for more than ${lie} ms while the pod was not Ready`);
};

/**
 * When each firewall did without the rule, by the device's journal, and when the CR was gone, by
 * the watch.
 */
const sayConfirmations = async (
  { screen, cluster, namespace }: Scenario,
  started: number,
): Promise<void> => {
  const { goneAt } = await witness(cluster, namespace);
  const crGone = goneAt(DELETED_RULE);
  const after = (ms: number): string => `${((ms - started) / 1000).toFixed(2)} s`;
  for (const { name } of await observePods(cluster, namespace, PURPOSE)) {
    const journal = await readJournal(cluster, { namespace, pod: name });
    const gone = goneSince(
      journal,
      'firewall',
      ({ target, src_port: port }) => target === 'REJECT' && port === '80',
    );
    if (gone === undefined || gone > crGone) {
      throw new Error(
        `${DELETED_RULE} was gone from Kubernetes after ${after(crGone)}, and from ${name} ${gone === undefined ? 'not yet' : `only after ${after(gone)}`}`,
      );
    }
    screen.say(`${name}: out of force after ${after(gone)}`);
  }
  screen.say(`${DELETED_RULE}: gone from Kubernetes after ${after(crGone)}`);
};

/** Deletes a rule; it must not go before every firewall was reloaded without it. */
export const deleteRule = async (scenario: Scenario): Promise<void> => {
  const { cluster, namespace } = scenario;
  const started = Date.now();
  await cluster.kubectl(['delete', '-n', namespace, DELETED.kind, DELETED.name, '--wait=false']);
  await until(`${DELETED_RULE} gone`, async () => {
    const { inSync } = await look(scenario);
    return inSync.has(DELETED_RULE) ? undefined : true;
  });
  await sayConfirmations(scenario, started);
  await untilInSync(
    scenario,
    3,
    seedRules.filter((rule) => rule !== DELETED_RULE),
  );
};
