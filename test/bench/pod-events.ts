/**
 * What a change of a pod costs the coordinator where 100 policies have 300 selectors, without an API server: `node test/bench/pod-events.ts [--pods 5000]`.
 * CPU time, since the machine may be busy.
 */
import { parseArgs } from 'node:util';
import { groupId, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import { createLiveGroups } from '../../coordinator/policy/live-groups.ts';

const { values } = parseArgs({ options: { pods: { type: 'string', default: '5000' } } });
const PODS = Number(values.pods);
const SELECTORS = 300;
const NAMESPACES = 20;
const TEAMS = 7;
const EVENTS = 20_000;

const groups = new Map<string, Group>();
for (let at = 0; at < SELECTORS; at += 1) {
  const team = { labels: { matchLabels: { team: `t${at % TEAMS}` } } };
  const group: Group = {
    pods: { matchLabels: { app: `a${at}` } },
    // A third of them look into namespaces by their labels.
    namespaces: at % 3 === 0 ? team : { name: `n${at % NAMESPACES}` },
  };
  groups.set(groupId(group), group);
}
const podAt = (at: number, labels: Record<string, string>): PolicyPod => ({
  namespace: `n${at % NAMESPACES}`,
  name: `p${at}`,
  uid: `u${at}`,
  labels,
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: [`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
});

const live = createLiveGroups();
live.follow(groups);
for (let at = 0; at < NAMESPACES; at += 1) live.relabel(`n${at}`, { team: `t${at % TEAMS}` });
for (let at = 0; at < PODS; at += 1) live.put(`u${at}`, podAt(at, { app: `a${at % SELECTORS}` }));

const measure = (what: string, labelsOf: (event: number) => Record<string, string>): void => {
  const before = process.cpuUsage();
  for (let event = 0; event < EVENTS; event += 1) {
    const at = event % PODS;
    for (const id of live.put(`u${at}`, podAt(at, labelsOf(event)))) live.members(id);
  }
  const { user, system } = process.cpuUsage(before);
  console.log(`${what}: ${Math.round((user + system) / EVENTS)} µs of CPU`);
};

console.log(`${PODS} pods, ${SELECTORS} selectors`);
measure('a pod changes that no policy selects', (event) => ({ version: String(event) }));
measure('a pod goes from one group to another', (event) => ({ app: `a${event % SELECTORS}` }));
