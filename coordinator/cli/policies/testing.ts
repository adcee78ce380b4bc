/** For tests of what commands say of policies. */
import { PURPOSE_LABEL } from '#shared/names.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import type { Group, PolicyPod } from '#shared/policy/group-members.ts';
import { membersOf } from '#shared/policy/testing.ts';
import {
  addressGroupResource,
  type AddressGroup,
} from '#shared/resources/other-kinds/address-group.ts';

export const MOMENT = '2026-01-01T00:00:00Z';

/** With label `app`, its name. */
export const shopPod = (
  name: string,
  address: string,
  more: Partial<PolicyPod> = {},
): PolicyPod => ({
  namespace: 'shop',
  name,
  uid: name,
  labels: { app: name },
  creationTimestamp: MOMENT,
  addresses: [address],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
  ...more,
});

/** The metadata of an object that the coordinator makes for CNF `cnf-1`. */
export const metadataAt = (name: string) => ({
  name,
  namespace: 'edge',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: MOMENT,
  labels: { [PURPOSE_LABEL]: 'cnf-1' },
});

export const compiledOf = (...given: Parameters<typeof compilePolicy>) => {
  const compiled = compilePolicy(...given);
  if (!('enforcement' in compiled)) throw new Error(JSON.stringify(compiled));
  return compiled;
};

export const groupsWith = (
  groups: ReadonlyMap<string, Group>,
  pods: readonly PolicyPod[],
): AddressGroup[] =>
  [...groups].map(([id, group]) =>
    addressGroupResource.schema.parse({
      apiVersion: 'network.sdewan.akraino.org/v1alpha1',
      kind: 'AddressGroup',
      metadata: metadataAt(`g.${id}`),
      spec: { group: id, slice: 0, members: [...membersOf(group, pods, () => ({}))] },
    }),
  );
