/**
 * What the items of `sdewan check` are made of, read from a cluster. What the user may not see
 * becomes an item of its own.
 */
import * as z from 'zod';
import { isAllowed } from '#shared/kube/access.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden } from '#shared/kube/errors.ts';
import { objectSchema, resourceV1, type ResourceType } from '#shared/kube/objects.ts';
import { resourceName } from '#shared/kube/path.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { resources } from '#shared/resources/resources.ts';
import { podResource } from '../../sources/workload.ts';
import { RESERVED_PORTS } from '../../controllers/generated-rules/kubernetes-services/wanted-rules.ts';
import { serviceResource } from '../../controllers/generated-rules/kubernetes-services/service.ts';
import { deployments } from '../cluster/deployments.ts';
import { rightsOf } from '../../views/rights.ts';
import { VERSION } from '#shared/own-version.ts';
import { clusterKinds, namespaceKinds, PART_OF, webhookKinds } from '../uninstall/found.ts';
import {
  agentsItem,
  coordinatorItem,
  freshItem,
  installRightsItem,
  kindsItem,
  serverItem,
  serviceItems,
  silentItem,
  unseenItem,
  versionsItem,
  webhookItems,
} from './items.ts';
import { eventResource } from '../cluster/events.ts';
import { neutronEvents, neutronItem, usesNeutron } from './neutron.ts';
import { refusedServices } from './services.ts';
import type { Item } from './view.ts';
import type { ClusterFacts } from '../../views/cluster-facts.ts';

type Reader = { client: KubeClient; signal: AbortSignal };

const PAGE_SIZE = 500;

const crds = resourceV1(
  'apiextensions.k8s.io',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  objectSchema.extend({
    spec: z.looseObject({
      versions: z.array(z.looseObject({ name: z.string(), served: z.boolean() })),
    }),
  }),
);

const webhookSchema = objectSchema.extend({
  webhooks: z
    .array(
      z.looseObject({
        name: z.string(),
        clientConfig: z.looseObject({
          caBundle: z.string().default(''),
          service: z.looseObject({ path: z.string().default('') }).optional(),
        }),
      }),
    )
    .default([]),
});

/** `work`'s items, or one that says what is lacking. */
const orUnseen = async (
  what: string,
  resource: ResourceType<object>,
  work: () => Promise<Item[]>,
): Promise<Item[]> => {
  try {
    return await work();
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const right = rightsOf([
      { verb: 'list', resource: resourceName(resource), namespace: undefined },
    ]);
    return [unseenItem(what, right.join('; '))];
  }
};

export const serverItems = async ({ client, signal }: Reader): Promise<Item[]> => [
  serverItem(await client.serverVersion({ signal })),
];

export const kindItems = ({ client, signal }: Reader): Promise<Item[]> =>
  orUnseen('kinds', crds, async () => {
    const { items } = await client.list(crds, { pageSize: PAGE_SIZE, signal });
    const found = items.map(({ metadata, spec }) => ({
      name: metadata.name,
      served: spec.versions.filter(({ served }) => served).map(({ name }) => name),
    }));
    return [kindsItem(resources, found)];
  });

export const installationItems = ({ client, signal }: Reader, now: number): Promise<Item[]> => {
  const selection = { labelSelector: PART_OF, signal };
  const asked = webhookKinds.slice(0, 2).map((kind) => ({ ...kind, schema: webhookSchema }));
  const [first] = asked;
  return orUnseen('webhooks', first ?? crds, async () => {
    const lists = await Promise.all(asked.map((kind) => client.list(kind, selection)));
    const found = lists.flatMap(({ items }) =>
      items.map(({ kind, webhooks: entries }) => ({
        kind,
        webhooks: entries.map(({ name, clientConfig: { caBundle, service } }) => ({
          name,
          caBundle,
          path: service?.path ?? '',
        })),
      })),
    );
    return webhookItems(
      found,
      asked.map(({ kind }) => kind),
      now,
    );
  });
};

/** Items of the coordinator, agents and CNFs. */
export const runningItems = async (
  { client, signal }: Reader,
  facts: ClusterFacts,
): Promise<Item[]> => {
  let images: string[] = [];
  let withNeutron = false;
  const coordinator = await orUnseen('coordinator', deployments, async () => {
    const { items } = await client.list(deployments, { labelSelector: PART_OF, signal });
    const containers = items.flatMap(({ spec }) => spec.template.spec.containers);
    images = containers.map(({ image }) => image);
    withNeutron = containers.some(({ env }) => usesNeutron(env));
    return [
      coordinatorItem(
        items.map(({ metadata, spec, status }) => ({
          name: metadata.name,
          ready: status?.readyReplicas ?? 0,
          wanted: spec.replicas,
        })),
      ),
    ];
  });
  const agents = facts.pods?.flatMap(({ agentImage }) => agentImage ?? []) ?? [];
  const [unseen] = rightsOf(facts.lacking.filter(({ resource }) => resource === 'pods'));
  return [
    ...coordinator,
    versionsItem({ cli: VERSION, coordinators: images, agents, absent: facts.absent }),
    unseen === undefined ? agentsItem(facts.pods ?? []) : unseenItem('pods of CNFs', unseen),
    silentItem(facts.cnfs),
    ...(withNeutron ? await neutronItems({ client, signal }) : []),
  ];
};

const neutronItems = ({ client, signal }: Reader): Promise<Item[]> =>
  orUnseen('Neutron and NetworkPolicies', eventResource, async () => [
    neutronItem(await neutronEvents(client, signal)),
  ]);

export const exposingItems = (reader: Reader): Promise<Item[]> =>
  orUnseen('services', serviceResource, async () => {
    const { client, signal } = reader;
    const paged = { pageSize: PAGE_SIZE, signal };
    const [services, pods] = await Promise.all([
      client.list(serviceResource, paged),
      client.list(podResource, { ...paged, labelSelector: PURPOSE_LABEL }),
    ]);
    return serviceItems(refusedServices(services.items, pods.items, RESERVED_PORTS));
  });

/** Before the product is installed. */
export const beforeItems = async ({ client, signal }: Reader): Promise<Item[]> => {
  const allowed = await Promise.all(
    INSTALLED.map(({ group, plural: resource }) =>
      isAllowed(client, { group, resource, verb: 'create' }, signal),
    ),
  );
  const denied = INSTALLED.filter((_, at) => !allowed[at]).map(resourceName);
  const present = await orUnseen('kinds', crds, async () => {
    const { items } = await client.list(crds, { pageSize: PAGE_SIZE, signal });
    const there = new Set(items.map(({ metadata }) => metadata.name));
    return [
      freshItem(
        resources
          .map(({ plural, group }) => `${plural}.${group}`)
          .filter((name) => there.has(name)),
      ),
    ];
  });
  return [installRightsItem(denied, INSTALLED.length), ...present];
};

/** What `kubectl apply -k deploy` creates, but for what most users may create anyway. */
const INSTALLED: readonly ResourceType<object>[] = [
  ...namespaceKinds,
  ...clusterKinds,
  ...webhookKinds.slice(0, 2),
  crds,
  deployments,
];
