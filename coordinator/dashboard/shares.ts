/** What part of the traffic each WAN of a CNF has by mwan3's policies. */
import { compileOffline } from '#shared/compile/offline.ts';
import { mwan3Policy } from '#shared/resources/rules/mwan3-policy.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { namesAsInterfaces, networksOf } from '../views/networks.ts';
import { packagesOf } from '../views/rendered.ts';
import { factsOf, type ExplainDeps } from './explain.ts';
import type { Cnf, PodRow, Wan } from './overview.ts';
import { MAX_COMPILED } from './read-rules.ts';

/** `percent`: of what the policy sends now; 0: it stands by, or is down. */
export type Share = { interface: string; policy: string; percent: number };
type UpOrDown = Pick<Wan, 'interface' | 'up'>;

/** As mwan3 does: of members that are up, those of the lowest metric have all, by weight. */
export const sharesOf = (
  policy: string,
  members: readonly UciSection['options'][],
  wans: readonly UpOrDown[],
): Share[] => {
  const up = new Set(wans.filter((one) => one.up).map((one) => one.interface));
  const all = members.map(({ interface: wan, metric, weight }) => ({
    interface: String(wan),
    metric: up.has(String(wan)) ? Number(metric) : Infinity,
    weight: Number(weight),
  }));
  const lowest = Math.min(...all.map(({ metric }) => metric));
  const weightOf = ({ metric, weight }: (typeof all)[number]): number =>
    metric === lowest && metric < Infinity ? weight : 0;
  const total = all.reduce((sum, one) => sum + weightOf(one), 0);
  return all.map((one) => ({
    interface: one.interface,
    policy,
    percent: total === 0 ? 0 : Math.round((100 * weightOf(one)) / total),
  }));
};

/** Those of a WAN, among all of its pod. */
export type SharesOf = (wan: string, among: readonly UpOrDown[]) => readonly Share[];
/** Undefined: no pod has a WAN, there are too many policies, or too many wait. @throws KubeError */
export type SharesIn = (
  cnf: Cnf,
  pods: readonly Pick<PodRow, 'wans'>[],
) => Promise<SharesOf | undefined>;

export const createShares =
  ({ reader, ...known }: ExplainDeps): SharesIn =>
  async (cnf, pods) => {
    if (pods.every(({ wans }) => wans.length === 0)) return undefined;
    const shares = await reader.inTurn(async (): Promise<SharesOf | undefined> => {
      const rules = await reader.allOf(cnf, [mwan3Policy]);
      if (rules.length > MAX_COMPILED) return undefined;
      const facts = factsOf(rules, { ...cnf, seesPods: false, seesNetworks: true }, known);
      const networks = networksOf(facts, cnf) ?? namesAsInterfaces(rules);
      const { desired, verdicts } = compileOffline(rules, networks);
      const policies = verdicts.map(({ rule, sections }) => ({
        policy: rule.metadata.name,
        members: packagesOf(sections, desired)
          .flatMap((mwan3) => mwan3.sections)
          .filter(({ type }) => type === 'member')
          .map(({ options }) => options),
      }));
      return (wan, wans) =>
        policies
          .flatMap(({ policy, members }) => sharesOf(policy, members, wans))
          .filter((share) => share.interface === wan);
    });
    return shares === 'busy' ? undefined : shares;
  };
