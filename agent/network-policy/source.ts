/** The PolicyEnforcements and AddressGroups of one CNF, as the API server has them, by watches. */
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import {
  addressGroupResource,
  type AddressGroup,
} from '#shared/resources/other-kinds/address-group.ts';
import {
  policyEnforcementResource,
  type PolicyEnforcement,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';

export type PolicySourceDeps = {
  client: KubeClient;
  namespace: string;
  purpose: string;
  /** Must return at once. */
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

export type PolicySource = {
  enforcements: () => PolicyEnforcement[];
  groups: () => AddressGroup[];
  /** Both lists were complete once. Before, nothing may be written. */
  isKnown: () => boolean;
  /** Kinds whose changes do not arrive now. None of those that the API server does not serve. */
  unwatchedKinds: () => string[];
  run: (signal: AbortSignal) => Promise<void>;
};

export const createPolicySource = (deps: PolicySourceDeps): PolicySource => {
  const { client, clock, log, namespace, onChange, purpose } = deps;
  const common = {
    client,
    selection: { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}` },
    onEvent: onChange,
    onState: onChange,
    ignoreStatusUpdates: true,
    clock,
    log,
  };
  const enforcements = new Reflector({ ...common, resource: policyEnforcementResource });
  const groups = new Reflector({ ...common, resource: addressGroupResource });
  const both = [enforcements, groups] as const;
  return {
    enforcements: () => enforcements.store.list(),
    groups: () => groups.store.list(),
    isKnown: () => both.every(({ state }) => state.listed),
    unwatchedKinds: () =>
      both.flatMap(({ resource, state }) =>
        state.phase === 'Synced' || state.phase === 'NotServed' ? [] : [resource.kind],
      ),
    run: async (signal) => {
      await Promise.all(both.map((reflector) => reflector.run(signal)));
    },
  };
};
