/** WANs and tunnels of a CNF, what its roll-out waits for, and its NetworkPolicies. */
import { uciName } from '#shared/uci/names.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { ipsecHost } from '#shared/resources/rules/ipsec-host.ts';
import { ipsecSite } from '#shared/resources/rules/ipsec-site.ts';
import { mwan3Policy } from '#shared/resources/rules/mwan3-policy.ts';
import { policyEnforcementStatusSchema } from '#shared/resources/other-kinds/policy-enforcement.ts';
import type { PodRow, RollOut, RuleRow } from '../overview.ts';
import { POLICY } from '../resources.ts';
import type { SharesOf } from '../shares.ts';
import {
  html,
  link,
  listed,
  ruleLink,
  rulePath,
  shown,
  sign,
  tableIfAny,
  time,
  type Html,
} from './page.ts';

export const wanTable = (
  namespace: string,
  pods: readonly PodRow[],
  sharesOf: SharesOf | undefined,
): Html | '' =>
  tableIfAny(
    'WANs',
    ['WAN', 'Pod', 'State', 'Seen so since', 'Share'],
    pods.flatMap(({ name, wans }) =>
      wans.map(({ interface: wan, up, status, since }) => [
        shown(wan),
        shown(name),
        sign(up ? 'good' : 'bad', status),
        time(since),
        sharesCell(namespace, sharesOf?.(wan, wans) ?? []),
      ]),
    ),
  );

const sharesCell = (namespace: string, shares: ReturnType<SharesOf>): Html =>
  shares.length === 0
    ? html`–`
    : listed(
        shares.map(
          ({ policy, percent }) =>
            html`${percent} % of ${link(rulePath(namespace, mwan3Policy.kind, policy), policy)}`,
        ),
      );

export const tunnelTable = (pods: readonly PodRow[], rules: readonly RuleRow[]): Html | '' =>
  tableIfAny(
    'Tunnels',
    ['Tunnel', 'Pod', 'State', 'Seen so since', 'Rule'],
    pods.flatMap((pod) =>
      pod.tunnels.map(({ name, up, state, starts = false, words = '', since }) => [
        shown(name),
        shown(pod.name),
        html`${up ? sign('good', 'up') : sign(starts ? 'bad' : 'wait', state)}
        ${words === '' ? '' : html`<p>${shown(words)}</p>`}`,
        time(since),
        remoteOf(name, rules),
      ]),
    ),
  );

const REMOTES = new Set([ipsecHost.kind, ipsecSite.kind]);

/** A tunnel is called by its remote and its connection. */
const remoteOf = (tunnel: string, rules: readonly RuleRow[]): Html => {
  const made = rules.filter(
    ({ state }) => REMOTES.has(state.kind) && tunnel.startsWith(`${uciName(state.name)}-`),
  );
  return made.length === 0 ? html`–` : listed(made.map(({ state }) => ruleLink(state)));
};

export const rollOutTable = (rollOuts: readonly RollOut[]): Html | '' =>
  tableIfAny(
    'Roll-outs',
    [cnfDeploymentResource.kind, 'Stage', 'Since', 'Waits for', 'Active pod'],
    rollOuts.map(
      ({ name, status: { stage = 'New', stageTime, waitsFor = [], message, active } }) => [
        shown(name),
        sign(stage === 'Current' ? 'good' : 'wait', stage === 'Current' ? 'none under way' : stage),
        time(stageTime),
        shown(waitsFor.join('; ') || message || '–'),
        shown(active ?? '–'),
      ],
    ),
  );

/** The name of its object begins with those of the policy and its namespace. */
const POLICY_NAME = /^([^.]+)\.(.*)\.[^.]+$/;

export const policyTable = (
  rules: readonly RuleRow[],
  stateOf: (row: RuleRow) => Html,
): Html | '' =>
  tableIfAny(
    'NetworkPolicies',
    ['Policy', 'State', 'Pods protected', 'Not protected', 'Since'],
    rules
      .filter(({ state }) => state.kind === POLICY)
      .map((row) => {
        const { namespace, name, since } = row.state;
        const status = policyEnforcementStatusSchema.safeParse(row.object.status).data;
        return [
          link(rulePath(namespace, POLICY, name), name.replace(POLICY_NAME, '$1/$2')),
          stateOf(row),
          shown(status?.selectedPods?.summary ?? '–'),
          shown(
            (status?.notEnforced ?? [])
              .map(({ reason, pods, examples }) => `${reason}: ${pods} (${examples.join(', ')})`)
              .join('; ') || '–',
          ),
          time(since),
        ];
      }),
  );
