/** `<kind>/<name>` as people write it: the kind by its name, plural, singular or short name. */
import type { RuleObject } from '#shared/kube/objects.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import { UsageError } from '../command.ts';
import { nearestOf } from '../nearest.ts';

const NAMED = 3;

const namesOf = ({ kind, plural, singular, shortNames, group }: KindDefinition): string[] => [
  kind,
  plural,
  singular,
  ...shortNames,
  ...[plural, singular].map((name) => `${name}.${group}`),
];

/** @throws UsageError with the nearest kinds */
export const parseTarget = (text: string): { kind: KindDefinition; name: string } => {
  const [written = '', name = '', ...rest] = text.split('/');
  if (name === '' || rest.length > 0)
    throw new UsageError(`${text}: must be KIND/NAME, such as FirewallRule/reject-80`);
  const kind = kinds.find((one) =>
    namesOf(one).some((known) => known.toLowerCase() === written.toLowerCase()),
  );
  if (kind) return { kind, name };
  const nearest = nearestOf(written, kinds, (one) => one.kind).slice(0, NAMED);
  throw new UsageError(
    `there is no kind ${written}; the nearest are ${nearest.map((one) => one.kind).join(', ')}`,
  );
};

/** @throws UsageError with the nearest names, or with the namespaces that have it */
export const ruleNamed = (
  rules: readonly RuleObject[],
  { kind: { kind }, name }: ReturnType<typeof parseTarget>,
): RuleObject => {
  const all = rules.filter((rule) => rule.kind === kind);
  const found = all.filter(({ metadata }) => metadata.name === name);
  const [one] = found;
  if (one && found.length === 1) return one;
  if (one)
    throw new UsageError(
      `several namespaces have ${kind} ${name}: ${found.map(({ metadata }) => metadata.namespace).join(', ')}: specify one with --namespace`,
    );
  const nearest = nearestOf(name, all, ({ metadata }) => metadata.name).slice(0, NAMED);
  const words = nearest.map(({ metadata }) => metadata.name).join(', ');
  throw new UsageError(
    `there is no ${kind} ${name} here; ${words === '' ? `there is no ${kind}` : `the nearest are ${words}`}`,
  );
};
