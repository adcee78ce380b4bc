/**
 * Check x operation x kind through the real API server, made from the registry: each cell has to be
 * seen denied, with its words, and allowed. A kind that is added is tested without a line here.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rbacResources } from '../../../coordinator/admission/buckets/bindings.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { kinds } from '#shared/resources/registry.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import {
  allNetworks,
  brokenSampleOf,
  crOf,
  networksIn,
  referencesIn,
  renameIn,
  sampleOf,
  withOwnClaims,
  type Spec,
} from './samples.ts';
import { allSamples } from '../../samples/all.ts';
import { createFixture, type Fixture } from './fixture.ts';

const ORDER = 'sdewan.akraino.org/order';
const NETWORKS = {
  interface: allNetworks().map((name, index) => ({ name, interface: `net${index}` })),
};
const ANNA = 'anna';

let fixture: Fixture;
/** Has bucket types `basic` only. */
let anna: KubeClient;
beforeAll(async () => {
  fixture = await createFixture();
  anna = fixture.clientAs(ANNA);
});
afterAll(() => fixture.close());

/** `expect.poll` belongs to one test at a time, and these run at the same time. */
const eventually = <T>(succeeds: () => Promise<T>): Promise<T> =>
  vi.waitFor(succeeds, { timeout: 300_000, interval: 50 });

/** What became of each cell: `kind / check / operation`. */
const cells = new Map<string, { allowed: boolean; denied: string }>();

/** A namespace with a CNF, and what a test wants to do in it. */
const newPlace = async (kind: KindDefinition) => {
  const namespace = await fixture.createNamespace();
  await fixture.client.create(deployments, cnf(namespace));
  await fixture.client.create(rbacResources.roles, role(namespace));
  await fixture.client.create(rbacResources.roleBindings, roleBinding(namespace));
  const cellOf = (check: string, operation: string) => {
    const key = `${kind.kind} / ${check} / ${operation}`;
    const cell = cells.get(key) ?? { allowed: false, denied: '' };
    cells.set(key, cell);
    return cell;
  };
  return {
    namespace,
    kind,
    allows: async (check: string, operation: string, request: Promise<unknown>): Promise<void> => {
      await request;
      cellOf(check, operation).allowed = true;
    },
    denies: async (
      check: string,
      operation: string,
      request: Promise<unknown>,
      ...words: string[]
    ): Promise<void> => {
      const message = await request.then(
        () => 'not denied',
        (error: unknown) => (error instanceof KubeError ? error.message : String(error)),
      );
      for (const word of words) expect(`${check} ${operation}: ${message}`).toContain(word);
      cellOf(check, operation).denied = message;
    },
  };
};
type Place = Awaited<ReturnType<typeof newPlace>>;

const create = (
  { namespace, kind }: Place,
  name: string,
  spec: Spec,
  options: {
    metadata?: Partial<RuleObject['metadata']>;
    client?: KubeClient;
    dryRun?: boolean;
  } = {},
): Promise<RuleObject> =>
  answered(() =>
    (options.client ?? fixture.client).create(
      kind,
      crOf(kind, { namespace, name, ...options.metadata }, withOwnClaims(kind, spec)),
      { dryRun: options.dryRun },
    ),
  );

const update = (
  { namespace, kind }: Place,
  name: string,
  body: object,
  client: KubeClient = fixture.client,
): Promise<unknown> =>
  answered(() => client.patch(kind, { namespace, name }, { patch: { type: 'merge', body } }));

const remove = (
  { namespace, kind }: Place,
  name: string,
  client: KubeClient = fixture.client,
): Promise<unknown> => answered(() => client.delete(kind, { namespace, name }));

/**
 * Asked again where the webhook did not answer in time, as happens while the whole
 * machine stands still.
 */
const answered = async <T>(request: () => Promise<T>): Promise<T> => {
  const answer = await eventually(() =>
    request().then(
      (value) => ({ value }),
      (error: unknown) => {
        if (String(error).includes('failed calling webhook')) throw error;
        return { error };
      },
    ),
  );
  if ('error' in answer) throw answer.error;
  return answer.value;
};

const isThere = ({ namespace, kind }: Place, name: string): Promise<boolean> =>
  fixture.client.get(kind, { namespace, name }).then(
    () => true,
    () => false,
  );

/**
 * Creates what a spec refers to, under names of the test's own, and gives the spec with those
 * names.
 */
const withTargets = async ({ namespace, kind }: Place): Promise<Spec> => {
  const spec = sampleOf(kind);
  const names: Record<string, string> = {};
  for (const reference of referencesIn(kind, spec)) {
    const target = kinds.find((known) => known.kind === reference.kind);
    if (!target || names[reference.name] !== undefined) continue;
    const name = `t${Object.keys(names).length}`;
    names[reference.name] = name;
    await fixture.client.create(target, crOf(target, { namespace, name }, sampleOf(target)));
  }
  return renameIn(spec, names);
};

const own = async (place: Place): Promise<void> => {
  const { kind } = place;
  const spec = await withTargets(place);
  const broken = brokenSampleOf(kind);
  await place.denies('spec', 'CREATE', create(place, 'bad', broken.spec), broken.field);
  await place.allows('spec', 'CREATE', create(place, 'ok', spec));
  await place.denies('spec', 'UPDATE', update(place, 'ok', { spec: broken.spec }), broken.field);
  await place.allows('spec', 'UPDATE', update(place, 'ok', { spec }));

  const first = { annotations: { [ORDER]: 'first' } };
  await place.denies('metadata', 'CREATE', create(place, 'bad', spec, { metadata: first }), ORDER);
  await place.denies('metadata', 'UPDATE', update(place, 'ok', { metadata: first }), ORDER);
  const fifth = { annotations: { [ORDER]: '5' } };
  await place.allows('metadata', 'CREATE', create(place, 'five', spec, { metadata: fifth }));
  await place.allows('metadata', 'UPDATE', update(place, 'ok', { metadata: fifth }));

  if (kind.uci) {
    await create(place, 'a-b', spec);
    // The coordinator answers by what its watch has brought; it has written a status once it knows
    // the rule.
    await eventually(async () => {
      const { status } = await fixture.client.get(kind, {
        namespace: place.namespace,
        name: 'a-b',
      });
      if (status === undefined) throw new Error('a-b has no status');
    });
    await place.denies('names', 'CREATE', create(place, 'a.b', spec), 'a-b', 'choose another name');
    await place.allows('names', 'CREATE', create(place, 'a-c', spec));
  }
  if (kind.nameRules?.some(({ isLimit }) => isLimit))
    await place.denies('name limit', 'CREATE', create(place, 'x'.repeat(16), spec), 'at most');

  const noPurpose = create(place, 'bad', spec, { metadata: { labels: {} } });
  await place.denies('purpose', 'CREATE', noPurpose, 'sdewanPurpose is required');
  await place.allows('purpose', 'CREATE', create(place, 'other', spec));
  const moved = { metadata: { labels: { sdewanPurpose: 'cnf-2' } } };
  await place.denies('purpose', 'UPDATE', update(place, 'ok', moved), 'cannot be changed');
  const unlabelled = { metadata: { labels: { sdewanPurpose: null } } };
  await place.denies('purpose', 'UPDATE', update(place, 'ok', unlabelled), 'cannot be changed');
  const more = { metadata: { labels: { more: 'x' } } };
  await place.allows('purpose', 'UPDATE', update(place, 'ok', more));

  await place.allows('dry run', 'CREATE', create(place, 'a.b', spec, { dryRun: true }));
};

const references = async (place: Place): Promise<void> => {
  const { kind } = place;
  const spec = await withTargets(place);
  const [reference] = referencesIn(kind, spec);
  if (!reference) return;
  const dangling = renameIn(spec, { [reference.name]: 'nobody' });
  const words = [`${reference.kind} nobody`, 'does not exist'];
  await place.denies('references', 'CREATE', create(place, 'bad', dangling), ...words);
  await place.allows('references', 'CREATE', create(place, 'ok', spec));
  await place.denies('references', 'UPDATE', update(place, 'ok', { spec: dangling }), ...words);
  await place.allows(
    'references',
    'UPDATE',
    update(place, 'ok', { metadata: { labels: { a: 'b' } } }),
  );
  const metadata = { annotations: { 'sdewan.akraino.org/references': 'warn' } };
  await place.allows('references, warn', 'CREATE', create(place, 'warned', dangling, { metadata }));

  const target = kinds.find((known) => known.kind === reference.kind);
  if (!target) return;
  const asTarget = { ...place, kind: target };
  const usedBy = await newPlace(target);
  await usedBy.denies(
    'used-by',
    'DELETE',
    remove(asTarget, reference.name),
    `used by ${kind.kind} ok`,
  );
  await remove(place, 'ok');
  await eventually(async () => {
    if (await isThere(place, 'ok')) throw new Error('ok is still there');
  });
  await usedBy.allows('used-by', 'DELETE', remove(asTarget, reference.name));
};

const networks = async (place: Place): Promise<void> => {
  const { kind } = place;
  const spec = await withTargets(place);
  const [network] = networksIn(kind, spec);
  if (network === undefined) return;
  const unknown = renameIn(spec, { [network]: 'nowhere' });
  const words = ['nowhere', ...allNetworks()];
  await place.denies('networks', 'CREATE', create(place, 'bad', unknown), ...words);
  await place.allows('networks', 'CREATE', create(place, 'ok', spec));
  await place.denies('networks', 'UPDATE', update(place, 'ok', { spec: unknown }), ...words);
  await place.allows('networks', 'UPDATE', update(place, 'ok', { spec }));
};

const buckets = async (place: Place): Promise<void> => {
  const spec = await withTargets(place);
  const typed = (type: string) => ({ metadata: bucket(type) });
  const as = (type: string) => ({ ...typed(type), client: anna });
  // Her role is new; the API server's own authorizer may not know of it yet.
  const asked = { ...as('basic'), dryRun: true };
  await eventually(() => create(place, 'ok', spec, asked));
  await place.denies(
    'bucket',
    'CREATE',
    create(place, 'bad', spec, as('app-intent')),
    '"anna"',
    'app-intent',
  );
  await place.allows('bucket', 'CREATE', create(place, 'ok', spec, as('basic')));
  await place.denies(
    'bucket type',
    'CREATE',
    create(place, 'bad', spec, typed('bsaic')),
    '"bsaic"',
  );
  await place.allows('bucket type', 'CREATE', create(place, 'typed', spec, typed('k8s-service')));

  await create(place, 'theirs', spec, typed('app-intent'));
  const set = (type: string | null) => ({ metadata: { labels: { 'sdewan-bucket-type': type } } });
  const denied = (name: string, type: string | null): Promise<void> =>
    place.denies('bucket', 'UPDATE', update(place, name, set(type), anna), 'may not update');
  await denied('ok', 'app-intent');
  // ICN's bypass: it looked at the new object only, so that removing the label was free.
  await denied('theirs', null);
  await denied('theirs', 'basic');
  await place.allows('bucket', 'UPDATE', update(place, 'ok', set(null), anna));
  await denied('ok', 'app-intent');
  await place.allows('bucket', 'UPDATE', update(place, 'ok', set('basic'), anna));
  await place.denies('bucket', 'DELETE', remove(place, 'theirs', anna), 'may not delete');
  await place.allows('bucket', 'DELETE', remove(place, 'ok', anna));
};

/** A finalizer of another owner keeps the object there while it is being deleted. */
const deleting = async (place: Place): Promise<void> => {
  const spec = await withTargets(place);
  const metadata = { ...bucket('app-intent'), finalizers: ['example.org/keeps-it'] };
  await create(place, 'going', spec, { metadata });
  await remove(place, 'going');
  const words = 'cannot be changed while the rule is being deleted';
  for (const bad of [
    { metadata: { labels: { 'sdewan-bucket-type': null } } },
    { metadata: { annotations: { [ORDER]: '7' } } },
  ])
    await place.denies('being deleted', 'UPDATE', update(place, 'going', bad, anna), words);
  const note = { metadata: { annotations: { 'example.org/note': 'x' } } };
  await place.allows('being deleted', 'UPDATE', update(place, 'going', note, anna));
  await place.allows('being deleted', 'DELETE', remove(place, 'going', anna));
  await update(place, 'going', { metadata: { finalizers: null } });
};

const bucket = (type: string): Partial<RuleObject['metadata']> => ({
  labels: { sdewanPurpose: 'cnf-1', 'sdewan-bucket-type': type },
});

// Each in a namespace of its own, and mostly waiting for the API server.
describe.concurrent.each(kinds.map((kind) => [kind.kind, kind] as const))('%s', (_name, kind) => {
  it.each([
    ['by itself', own],
    ['with what it refers to', references],
    ['with the networks of the CNF', networks],
    ['with bucket types', buckets],
    ['while it is being deleted', deleting],
  ])('%s', async (_title, run) => {
    const failure = await run(await newPlace(kind)).then(() => '', String);
    expect(failure).toBe('');
  });
});

describe('the matrix', () => {
  it('has no empty cell', () => {
    const empty = [...cells]
      .filter(([key, cell]) => cell.denied === '' && !ONLY_ALLOWED.test(key))
      .concat([...cells].filter(([key, cell]) => !cell.allowed && !ONLY_DENIED.test(key)))
      .map(([key]) => key);
    expect(empty).toEqual([]);
    const checks = new Set([...cells.keys()].map((key) => key.split(' / ')[1]));
    console.log(`${cells.size} cells of ${kinds.length} kinds: ${[...checks].join(', ')}`);
    for (const kind of kinds)
      for (const cell of [...EVERY_KIND, ...(kind.uci ? ['names / CREATE'] : [])])
        expect([...cells.keys()]).toContain(`${kind.kind} / ${cell}`);
  });
});

const ONLY_ALLOWED = /dry run|being deleted|references, warn/;
const ONLY_DENIED = /name limit/;
const EVERY_KIND = [
  'spec / CREATE',
  'spec / UPDATE',
  'metadata / CREATE',
  'metadata / UPDATE',
  'purpose / CREATE',
  'purpose / UPDATE',
  'bucket / CREATE',
  'bucket / UPDATE',
  'bucket / DELETE',
  'bucket type / CREATE',
  'dry run / CREATE',
  'being deleted / UPDATE',
  'being deleted / DELETE',
];

const deployments = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  schema: objectSchema,
};
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };

const cnf = (namespace: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cnf-1', namespace, labels: { sdewanPurpose: 'cnf-1' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { sdewanPurpose: 'cnf-1' } },
    template: {
      metadata: {
        labels: { sdewanPurpose: 'cnf-1' },
        annotations: { 'k8s.plugin.opnfv.org/nfn-network': JSON.stringify(NETWORKS) },
      },
      spec: { containers: [{ name: 'sdewan', image: 'none' }] },
    },
  },
});

const role = (namespace: string) => ({
  ...rbac,
  kind: 'Role',
  metadata: {
    name: 'rules',
    namespace,
    annotations: { 'sdewan-bucket-type-permission': '{"*": ["basic"]}' },
  },
  rules: [
    { apiGroups: ['batch.sdewan.akraino.org'], resources: ['*'], verbs: ['*'] },
    // All types, so that what the annotation does not list is the webhook's to refuse.
    { apiGroups: ['permissions.sdewan.akraino.org'], resources: ['buckettypes'], verbs: ['use'] },
  ],
});

const roleBinding = (namespace: string) => ({
  ...rbac,
  kind: 'RoleBinding',
  metadata: { name: 'rules', namespace },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'rules' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: ANNA }],
});

const refusedByUs = allSamples.flatMap(({ kind, refused }) =>
  Object.entries(refused).flatMap(([sentence, { agent, name = 'case', spec }]) =>
    agent === undefined ? [] : [{ kind, sentence, agent, name, spec }],
  ),
);

it.concurrent.each(refusedByUs)(
  'refuses what no CRD can: $kind: $sentence',
  async ({ kind, agent, name, spec }) => {
    const definition = kinds.find((known) => known.kind === kind)!;
    const namespace = await fixture.createNamespace();
    const rule = { ...crOf(definition, { namespace, name }, {}), spec };
    await expect(fixture.client.create(definition, rule)).rejects.toThrow(agent);
  },
);
