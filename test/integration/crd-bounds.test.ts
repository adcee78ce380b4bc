/** Each text, list, map and number of a spec of ours has a bound, which the API server keeps. */
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { resources } from '#shared/resources/resources.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { specSchemaOf, type Schema } from '../../deploy/generate/crd.ts';
import { applyCrds } from './support/crds.ts';

const AT_ONCE = 4;
/** In the API server's words. */
const BEYOND = /Too long|Too many|may not be more|must have at most|should be less than or equal/;

let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  const cluster = await connectCluster();
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('crd-bounds');
});
afterAll(() => client.close());

/** `path`: as the API server names it. `value`: what `spec` is to be. */
type Beyond = { path: string; value: unknown };

const SMALL = new Map<string | undefined, unknown>([
  ['array', []],
  ['boolean', true],
  ['integer', 1],
  ['object', {}],
]);

/** @throws Error for what has no bound */
const beyondIn = (schema: Schema, path: string): Beyond[] => {
  const { additionalProperties: of, enum: words, items, properties = {}, type } = schema;
  if (words || type === 'boolean' || schema['x-kubernetes-preserve-unknown-fields']) return [];
  const most = (name: string): number => {
    const bound = schema[name];
    if (typeof bound !== 'number') throw new Error(`${path} needs ${name}`);
    return bound;
  };
  if (type === 'integer')
    return schema.maximum === undefined ? [] : [{ path, value: schema.maximum + 1 }];
  const small = (at: number): unknown => SMALL.get((items ?? of)?.type) ?? `a${at}`;
  const smalls = (count: number): unknown[] =>
    Array.from({ length: count + 1 }, (_, at) => small(at));
  if (type === 'array' && items)
    return [
      { path, value: smalls(most('maxItems')) },
      ...beyondIn(items, `${path}[0]`).map((each) => ({ ...each, value: [each.value] })),
    ];
  if (of)
    return [
      {
        path,
        value: Object.fromEntries(smalls(most('maxProperties')).map((one, at) => [`k${at}`, one])),
      },
      ...beyondIn(of, `${path}.k`).map((each) => ({ ...each, value: { k: each.value } })),
    ];
  if (type !== 'object') return [{ path, value: 'A'.repeat(most('maxLength') + 1) }];
  return Object.entries(properties).flatMap(([name, field]) =>
    beyondIn(field, `${path}.${name}`).map((each) => ({ ...each, value: { [name]: each.value } })),
  );
};

describe('the API server', () => {
  it.each(resources.map((resource) => [resource.kind, resource] as const))(
    'refuses a %s with any field of its spec beyond its bound',
    async (kind, resource) => {
      const { group, version, scope } = resource;
      const metadata = { name: 'beyond', ...(scope === 'Namespaced' && { namespace }) };
      const taken: string[] = [];
      await atOnce(beyondIn(specSchemaOf(resource), 'spec'), AT_ONCE, async ({ path, value }) => {
        const body = { apiVersion: `${group}/${version}`, kind, metadata, spec: value };
        const answer = await client
          .create(resource, body, { dryRun: true })
          .then(() => 'accepted', String);
        const about = answer.split(/, (?=spec)/).find((one) => one.includes(`${path}: `));
        if (!BEYOND.test(about ?? '')) taken.push(`${path}: ${answer.slice(0, 300)}`);
      });
      expect(taken).toEqual([]);
    },
  );
});
