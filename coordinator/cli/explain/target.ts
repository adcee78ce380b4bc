/** `<kind>/<name>` as people write it: the kind by its name, plural, singular or short name. */
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { POLICY_KINDS, type PolicyKind } from '#shared/policy/network-policy.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import { nearestNames } from '../nearest.ts';
import { NotThereError, UsageError } from '../../views/usage-error.ts';

/** Its singular is its name in small letters. */
const namesOf = ({ kind, plural, shortNames, group }: KindDefinition): string[] => [
  kind,
  plural,
  ...shortNames,
  ...[plural, kind].map((name) => `${name}.${group}`),
];

/** As kubectl takes them. */
const POLICY_NAMES: Readonly<Record<PolicyKind, readonly string[]>> = {
  NetworkPolicy: [
    'networkpolicy',
    'networkpolicies',
    'netpol',
    'networkpolicies.networking.k8s.io',
    'networkpolicy.networking.k8s.io',
  ],
  MultiNetworkPolicy: [
    'multinetworkpolicy',
    'multi-networkpolicy',
    'multi-networkpolicies',
    'multi-policy',
    'multi-networkpolicies.k8s.cni.cncf.io',
  ],
};

export type RuleTarget = { kind: KindDefinition; name: string };
export type PolicyTarget = { policy: PolicyKind; name: string };

/** @throws UsageError with the nearest kinds */
export const parseTarget = (text: string): RuleTarget | PolicyTarget => {
  const [written = '', name = '', ...rest] = text.split('/');
  if (name === '' || rest.length > 0)
    throw new UsageError(`${text}: must be KIND/NAME, such as FirewallRule/reject-80`);
  const lower = written.toLowerCase();
  const kind = kinds.find((one) => namesOf(one).some((known) => known.toLowerCase() === lower));
  if (kind) return { kind, name };
  const policy = POLICY_KINDS.find((one) => POLICY_NAMES[one].includes(lower));
  if (policy) return { policy, name };
  const all = [...kinds.map((one) => one.kind), ...POLICY_KINDS];
  const nearest = nearestNames(written, all, (one) => one);
  throw new UsageError(`there is no kind ${written}; the nearest are ${nearest}`);
};

/** @throws NotThereError with the nearest names, UsageError with the namespaces that have it */
export const ruleNamed = (
  rules: readonly RuleObject[],
  { kind: { kind }, name }: RuleTarget,
): RuleObject =>
  oneNamed(
    rules.filter((rule) => rule.kind === kind),
    { kind, name },
  );

/** The one among all of one kind. @throws as `ruleNamed` */
export const oneNamed = <T extends KubeObject>(
  all: readonly T[],
  { kind, name }: { kind: string; name: string },
): T => {
  const found = all.filter(({ metadata }) => metadata.name === name);
  const [one] = found;
  if (one && found.length === 1) return one;
  if (one)
    throw new UsageError(
      `several namespaces have ${kind} ${name}: ${found.map(({ metadata }) => metadata.namespace).join(', ')}: specify one with --namespace`,
    );
  const words = nearestNames(name, all, ({ metadata }) => metadata.name);
  throw new NotThereError(
    `there is no ${kind} ${name} here; ${words === '' ? `there is no ${kind}` : `the nearest are ${words}`}`,
  );
};
