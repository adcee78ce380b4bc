/**
 * The parts of the manifests of admission and rights that are about our resources: which requests
 * webhooks and policies are asked about, and what the coordinator may do. In one place, so that no
 * manifest names an API group or a resource by hand.
 */
import {
  askedBeside,
  FLEET_GROUP,
  HANDED_OVER_GATE,
  NETWORK_GROUP,
  PORTS_GATE,
  RESTART_ANNOTATION,
  RESTARTABLE_SERVICES,
  ROLL_SET_ANNOTATION,
  WRITTEN_ON_CNF_PODS,
  WRITTEN_ON_PODS,
  WRITTEN_WITH_GATE,
} from '#shared/names.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { cnfResource } from '#shared/resources/other-kinds/cnf.ts';
import { cnfSetResource } from '#shared/resources/other-kinds/cnf-set.ts';
import {
  cnfDeploymentResource,
  MAX_TEMPLATE_BYTES,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import type { Resource } from '#shared/resources/resource.ts';
import type { Blocks } from './blocks.ts';
import { specSchemaOf } from './crd.ts';
import { groupsOf, rightsOn } from './roles.ts';
import { largestOf } from './spec-size.ts';

type Named = Pick<Resource, 'group' | 'plural' | 'scope'>;

/**
 * Requests about any resource of these groups, also one of another version that this one does not
 * know; `names`: those of subresources are apart.
 */
const requests = (
  resources: readonly Named[],
  operations: readonly string[],
  names: '*' | '*/status' = '*',
): object[] =>
  (['Namespaced', 'Cluster'] as const).flatMap((scope) => {
    const apiGroups = groupsOf(resources.filter((resource) => resource.scope === scope));
    return apiGroups.length === 0
      ? []
      : [{ apiGroups, apiVersions: ['*'], resources: [names], operations, scope }];
  });

/** Requests about these resources and no others, in any version. */
const requestsAbout = (
  resources: readonly Named[],
  operations: readonly string[],
  scope: Resource['scope'] = 'Namespaced',
): object[] => {
  const those = resources.filter((one) => one.scope === scope);
  return groupsOf(those).map((group) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    resources: those.filter((one) => one.group === group).map(({ plural }) => plural),
    operations,
    scope,
  }));
};

/** Those of groups that no rule is of. */
const outside = (resources: readonly Resource[], rules: readonly KindDefinition[]): Resource[] => {
  const groups = groupsOf(rules);
  return resources.filter(({ group }) => !groups.includes(group));
};

const coordinatorRights = (
  resources: readonly Resource[],
  rules: readonly KindDefinition[],
): object[] => [
  ...rightsOn(rules, ['get', 'list', 'watch', 'patch'], () => '*'),
  ...rightsOn(outside(resources, rules), ['get', 'list', 'watch']),
  ...rightsOn(
    outside(resources, rules).filter(({ isMadeByCoordinator }) => isMadeByCoordinator),
    ['patch'],
  ),
  ...rightsOn(rules, ['update'], () => '*/status'),
  ...rightsOn(
    outside(resources, rules).filter(({ status, isWrittenWhole }) => status && !isWrittenWhole),
    ['update'],
    ({ plural }) => `${plural}/status`,
  ),
  ...rightsOn(
    resources.filter(({ isMadeByCoordinator }) => isMadeByCoordinator),
    ['create', 'delete'],
  ),
  ...rightsOn(
    rules.filter(({ generates }) => generates),
    ['update'],
    ({ plural }) => `${plural}/finalizers`,
  ),
];

/** One status object can be for all CNFs: what is no rule needs no purpose. */
const notRules = (resources: readonly Resource[], rules: readonly KindDefinition[]): object[] => {
  const groups = groupsOf(rules);
  const ofRules = new Set(rules.map(({ plural }) => plural));
  const others = resources.filter(
    ({ group, plural }) => groups.includes(group) && !ofRules.has(plural),
  );
  const expression = others.map(({ plural }) => `request.resource.resource != '${plural}'`);
  return others.length === 0
    ? []
    : [{ name: 'ties-rules-to-a-cnf', expression: expression.join(' && ') }];
};

/** Those of a group that no other client writes. */
const aloneOf = (resources: readonly Resource[], of: string): Resource[] =>
  resources.filter(({ group, isCoordinatorsAlone }) => isCoordinatorsAlone && group === of);

/** In CEL. */
const listOf = (names: readonly string[]): string =>
  `[${names.map((name) => `'${name}'`).join(', ')}]`;

type Owner = Pick<Resource, 'group' | 'version' | 'kind'>;

const POD: Owner = { group: '', version: 'v1', kind: 'Pod' };

/** Kinds that can be deleted of which the coordinator makes something. */
const ownersOf = (rules: readonly KindDefinition[]): object[] => {
  const owned = rules.flatMap(({ plural, kind }): [plural: string, owners: Owner[]][] => {
    const owners = rules.filter(({ generates }) => generates?.kinds.includes(kind));
    return owners.length === 0 ? [] : [[plural, owners]];
  });
  owned.push([cnfSetResource.plural, [cnfDeploymentResource]], [cnfResource.plural, [POD]]);
  const entries = owned.map(([plural, owners]) => {
    const names = owners.map((owner) => `${apiVersionOf(owner)}/${owner.kind}`);
    return `'${plural}': ${listOf(names)}`;
  });
  const expression = `{${entries.join(', ')}}[?request.resource.resource].orValue([])`;
  return [{ name: 'kindsOfOwners', expression }];
};

const namesOfTheFleet: readonly object[] = [
  { name: 'fleetGroup', expression: `'${cnfDeploymentResource.group}'` },
  { name: 'fleetKind', expression: `'${cnfDeploymentResource.kind}'` },
  { name: 'gate', expression: `'${HANDED_OVER_GATE}'` },
];

const namesOfRequests: readonly object[] = [
  { name: 'rollSet', expression: `'${ROLL_SET_ANNOTATION}'` },
  { name: 'restart', expression: `'${RESTART_ANNOTATION}'` },
  { name: 'beside', expression: `'${askedBeside('')}'` },
  { name: 'services', expression: listOf(RESTARTABLE_SERVICES) },
];

const anotherRequest: readonly object[] = [
  {
    name: 'another-request',
    expression: [ROLL_SET_ANNOTATION, RESTART_ANNOTATION]
      .map((name) => ['object', 'oldObject'].map((of) => `${of}.metadata.?annotations[?'${name}']`))
      .map(([now, before]) => `${now} != ${before}`)
      .join(' || '),
  },
];

/** What kubectl keeps of an object that it applies is escaped: it is up to twice as long. */
const ESCAPED = 2;
const LEAST_FOR_ANNOTATIONS = 32_768;
/** The API server allows no more of any object. */
const MOST_FOR_ANNOTATIONS = 262_144;

/** Bytes of the rest of a spec, which no schema bounds. */
const besideSchema = ({ plural }: Resource): number =>
  plural === cnfDeploymentResource.plural ? MAX_TEMPLATE_BYTES : 0;

/** People write no object that the coordinator alone writes, and may annotate it. */
const annotationLimit = (resources: readonly Resource[]): object[] => {
  const written = resources.filter(({ isCoordinatorsAlone }) => !isCoordinatorsAlone);
  const limits = written.flatMap((one): [plural: string, limit: number][] => {
    const spec = largestOf(specSchemaOf(one), `${one.kind}.spec`) + besideSchema(one);
    const limit = ESCAPED * spec;
    return limit > LEAST_FOR_ANNOTATIONS
      ? [[one.plural, Math.min(limit, MOST_FOR_ANNOTATIONS)]]
      : [];
  });
  const cases = limits.map(
    ([plural, limit]) => `request.resource.resource == '${plural}' ? ${limit} : `,
  );
  return [{ name: 'most', expression: `${cases.join('')}${LEAST_FOR_ANNOTATIONS}` }];
};

/** `rules` are also among `resources`. */
export const fenceBlocks = (
  resources: readonly Resource[],
  rules: readonly KindDefinition[],
): Blocks => ({
  'rules-held': requestsAbout(
    rules.filter(({ uci }) => uci),
    ['CREATE'],
  ),
  'rules-written': requests(rules, ['CREATE', 'UPDATE']),
  'resources-written': requests(resources, ['CREATE', 'UPDATE']),
  'rules-that-run-programs': requestsAbout(
    rules.filter(({ runsPrograms }) => runsPrograms),
    ['CREATE', 'UPDATE'],
  ),
  'rules-updated': requests(rules, ['UPDATE']),
  'rules-changed': requests(rules, ['CREATE', 'UPDATE', 'DELETE']),
  'resources-changed': requests(resources, ['CREATE', 'UPDATE', 'DELETE']),
  'statuses-written': requests(resources, ['UPDATE'], '*/status'),
  'rights-on-resources': coordinatorRights(resources, rules),
  'owners-by-the-coordinator': ownersOf(rules),
  'names-of-the-fleet': namesOfTheFleet,
  'annotations-written-on-pods': [
    { name: 'writtenOnCnfs', expression: listOf([...WRITTEN_ON_CNF_PODS, ...WRITTEN_ON_PODS]) },
    { name: 'writtenOnPods', expression: listOf(WRITTEN_ON_PODS) },
  ],
  'made-of-policies': requestsAbout(aloneOf(resources, NETWORK_GROUP), [
    'CREATE',
    'UPDATE',
    'DELETE',
  ]),
  'network-ports-written': requestsAbout(
    aloneOf(resources, NETWORK_GROUP),
    ['CREATE', 'UPDATE', 'DELETE'],
    'Cluster',
  ),
  'networks-deleted': requestsAbout([managedNetworkResource], ['DELETE'], 'Cluster'),
  'gate-of-ports': [
    { name: 'portsGate', expression: `'${PORTS_GATE}'` },
    { name: 'writtenWithGate', expression: listOf(WRITTEN_WITH_GATE) },
  ],
  'made-of-fleets': requestsAbout(aloneOf(resources, FLEET_GROUP), ['CREATE', 'UPDATE']),
  'requests-of-users': requestsAbout(aloneOf(resources, FLEET_GROUP), ['UPDATE']),
  'names-of-requests': namesOfRequests,
  'another-request': anotherRequest,
  'cnfs-rolled-out': requestsAbout([cnfDeploymentResource], ['CREATE', 'UPDATE']),
  'annotation-limit': annotationLimit(resources),
  'ties-rules-to-a-cnf': notRules(resources, rules),
});
