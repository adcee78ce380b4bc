/** From what OpenWRT refused to the rules that are to blame. One bad rule harms only itself. */
import type { Verdict } from '#shared/compile/types.ts';
import {
  OpenwrtPackageRefusedError,
  type ApplyResult,
  type KernelLook,
} from '../openwrt/driver.ts';
import type { LastGoodStore } from './last-good.ts';
import type { Plan } from './plan.ts';
import type { Refusals } from './refusals.ts';
import type { Search } from './halving.ts';
import { warningFor, type RuleStates } from './rule-states.ts';

export type BlameDeps = { refusals: Refusals; lastGood: LastGoodStore };
type Rejected = Extract<ApplyResult, { outcome: 'rejected' }>;

/**
 * Refuses the rules whose sections OpenWRT named, or brings the search for them one step on.
 * @throws OpenwrtPackageRefusedError when no rule can be to blame
 */
export const blame = async (
  { refusals, lastGood }: BlameDeps,
  { search, plan }: { search: Search; plan: Plan },
  rejected: Rejected,
): Promise<void> => {
  const { verdicts } = plan;
  const message = `OpenWRT refuses package ${rejected.package} with this rule: ${rejected.message}`;
  const refuse = async (verdict: Verdict): Promise<void> => {
    const { uid } = verdict.rule.metadata;
    const again = refusals.current().has(uid);
    const retry = rejected.lasting !== true;
    refusals.add(uid, { revision: verdict.revision, message }, { retry });
    if (!again) return;
    // What was refused is not the CR as it is, but the last good spec in its place.
    await lastGood.replace(new Map([...lastGood.current()].filter(([other]) => other !== uid)));
  };

  const named = verdicts.filter((verdict) =>
    verdict.sections.some(
      (section) => section.package === rejected.package && rejected.sections.includes(section.name),
    ),
  );
  if (named.length > 0) {
    search.clear(named.map(({ rule }) => rule.metadata.uid));
    for (const verdict of named) await refuse(verdict);
    return;
  }
  const guilty = search.refused(() => suspectsIn(plan, rejected));
  const found = verdicts.find(({ rule }) => rule.metadata.uid === guilty);
  if (found !== undefined) await refuse(found);
};

/**
 * Refuses the rules that OpenWRT has in its files as the plan has them, and that it does not take
 * into its kernel, since others may not get there because of them. Tried again they would take
 * those out of force again. Gives whether another plan follows from that.
 */
export const blameFound = async (
  deps: BlameDeps,
  looking: { search: Search; plan: Plan },
  kernel: KernelLook | undefined,
): Promise<boolean> => {
  const { refusals, lastGood } = deps;
  const { verdicts, deltas } = looking.plan;
  const canBlame = ({ rule: { metadata } }: Verdict): boolean =>
    !refusals.current().has(metadata.uid) || lastGood.current().has(metadata.uid);
  const isAsPlanned = (name: string, section: string): boolean =>
    verdicts.some(
      (verdict) =>
        verdict.sections.some((one) => one.package === name && one.name === section) &&
        canBlame(verdict),
    ) &&
    !deltas.some(
      (delta) => delta.package === name && delta.set.some(({ after }) => after.name === section),
    );
  const found = [...(kernel?.refused ?? [])].flatMap(([name, sections]) =>
    [...sections]
      .filter(([section]) => isAsPlanned(name, section))
      .map(([section, message]) => ({ package: name, message, sections: [section] })),
  );
  for (const each of found)
    await blame(deps, looking, { outcome: 'rejected', lasting: true, ...each });
  return found.length > 0;
};

/** Rules with changed sections, in the file's order: of two that conflict the later one goes. */
const suspectsIn = ({ verdicts, deltas, desired }: Plan, rejected: Rejected): readonly string[] => {
  const owners = new Map<string, string>();
  for (const { rule, sections } of verdicts) {
    for (const section of sections) {
      if (section.package === rejected.package) owners.set(section.name, rule.metadata.uid);
    }
  }
  const delta = deltas.find((candidate) => candidate.package === rejected.package);
  const changed = new Set([
    ...(delta?.set.map(({ after }) => after.name) ?? []),
    ...(delta?.append.map(({ name }) => name) ?? []),
  ]);
  const inOrder = (desired.get(rejected.package) ?? []).map(({ name }) => name);
  const names = changed.size > 0 ? inOrder.filter((name) => changed.has(name)) : inOrder;
  const suspects = names.map((name) => owners.get(name)).filter((uid) => uid !== undefined);
  if (suspects.length === 0) {
    throw new OpenwrtPackageRefusedError(rejected.package, rejected.message);
  }
  return [...new Set(suspects)];
};

/**
 * Rules whose new version OpenWRT left out, while an older one was in force: they go back to that
 * one, since dropping a deny rule would open the firewall. Others stay where they are; OpenWRT
 * ignores them.
 */
export const refuseWarned = ({ refusals, lastGood }: BlameDeps, standing: RuleStates): void => {
  if (standing.warnings.size === 0) return;
  for (const verdict of standing.verdicts) {
    const { uid } = verdict.rule.metadata;
    const older = lastGood.current().get(uid);
    const message = warningFor(standing, verdict);
    if (verdict.verdict !== 'wanted' || message === undefined || older === undefined) continue;
    if (older.revision !== verdict.revision) {
      refusals.add(uid, { revision: verdict.revision, message }, { retry: false });
    }
  }
};
