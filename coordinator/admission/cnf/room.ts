/**
 * Whether managed networks have as many addresses as a roll-out of a CNFDeployment has pods at
 * once. Pure.
 */
import type { CnfDeploymentSpec } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { asksOf } from '../../controllers/network-ports/asks.ts';
import { askTextsIn } from '../../controllers/network-ports/objects.ts';
import { planOf } from '../../controllers/network-ports/subnets.ts';

/** Addresses that other pods have are not counted: they may be gone until then. */
export const roomWarnings = (
  spec: CnfDeploymentSpec,
  namespace: string,
  networks: readonly ManagedNetwork[],
): string[] => {
  const asks = asksOf(askTextsIn(annotationsIn(spec)), namespace);
  const pods = podsAtOnce(spec);
  return networks.flatMap((network) => {
    const each = asks.filter(({ name }) => network.spec.names.includes(name)).length;
    const plan = planOf(network.spec);
    if ('problem' in plan) return [];
    const { perNamespace = Infinity } = network.spec;
    const has = Math.min(plan.indexes.length, perNamespace);
    const where =
      has < plan.indexes.length
        ? `perNamespace allows ${has}`
        : `its range ${plan.range} has ${has}`;
    return pods * each <= has
      ? []
      : [
          `a roll-out has ${pods} pods at once, which need ${pods * each} addresses of network ${network.metadata.name}: ${where}, so pods will wait for addresses`,
        ];
  });
};

const podsAtOnce = ({ replicas, strategy, surge }: CnfDeploymentSpec): number => {
  if (strategy === 'Recreate') return replicas;
  return replicas + (surge === 1 ? 1 : replicas);
};

const annotationsIn = ({ template }: CnfDeploymentSpec): Record<string, string> => {
  const { annotations } = template.metadata;
  return typeof annotations === 'object' && annotations !== null
    ? Object.fromEntries(
        Object.entries(annotations).filter((entry): entry is [string, string] =>
          entry.every((text) => typeof text === 'string'),
        ),
      )
    : {};
};
