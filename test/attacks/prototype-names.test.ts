/**
 * Names that each object of JavaScript has, wherever a tenant chooses a name: `agent-toString` once
 * made the coordinator answer 500, so that the API server took it as away. Each is refused, or
 * taken, as any other word.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { rule } from '../stack/rules.ts';

const NAMES = [...Object.getOwnPropertyNames(Object.prototype), 'prototype'];
/** Names of objects and values of labels. */
const dns = (name: string): string => name.toLowerCase().replaceAll('_', '') || 'x';
const labelled = (name: string): string => name.replaceAll(/^_+|_+$/g, '');

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
});
afterAll(() => fixture.close());

type Fields = Record<string, unknown>;
const pod = (
  name: string,
  metadata: { labels?: Fields; annotations?: Fields },
  spec: Fields = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `p-${dns(name)}`,
    namespace,
    ...metadata,
    labels: { sdewanPurpose: labelled(name), ...metadata.labels },
  },
  spec: { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }], ...spec },
});
const of = (kind: string, spec: Fields, name: string, metadata: Fields = {}): Fields => {
  const made = rule(kind, `r-${dns(name)}`, spec);
  return {
    ...made,
    metadata: {
      ...made.metadata,
      namespace,
      labels: { sdewanPurpose: labelled(name) },
      ...metadata,
    },
  };
};

/** Everything in which the text is a key of ours, or is looked up in a table. */
const places: Record<string, (name: string) => Fields> = {
  'an annotation of the agent': (name) =>
    pod(name, { annotations: { [`sdewan.akraino.org/agent-${name}`]: 'x' } }),
  'another annotation of ours': (name) =>
    pod(name, { annotations: { [`sdewan.akraino.org/${name}`]: 'x' } }),
  'a value of an annotation': (name) =>
    pod(name, { annotations: { 'sdewan.akraino.org/agent-driver': name } }),
  'a name of a label': (name) => pod(name, { labels: { [labelled(name)]: 'x' } }),
  'a network of Nodus': (name) =>
    pod(name, {
      annotations: {
        'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({ type: name, interface: [{ name }] }),
      },
    }),
  'a container': (name) => pod(name, {}, { containers: [{ name: dns(name), image: 'none' }] }),
  'a bucket type': (name) =>
    of('FirewallZone', { network: [name] }, name, {
      labels: { sdewanPurpose: labelled(name), 'sdewan-bucket-type': labelled(name) },
    }),
  'a mode of references': (name) =>
    of('FirewallZone', { network: [name] }, name, {
      annotations: { 'sdewan.akraino.org/references': name },
    }),
  'an order': (name) =>
    of('FirewallZone', { network: [name] }, name, {
      annotations: { 'sdewan.akraino.org/order': name },
    }),
  'a zone that is referred to': (name) => of('FirewallRule', { src: name, target: 'REJECT' }, name),
  'a field that nobody knows': (name) =>
    of('FirewallRule', { src: '*', target: 'REJECT', [name]: 'x' }, name),
  'a protocol': (name) => of('FirewallRule', { src: '*', target: 'REJECT', proto: name }, name),
  'a member of a policy': (name) =>
    of('Mwan3Policy', { members: [{ network: name, metric: 1, weight: 1 }] }, name),
  'a proposal': (name) =>
    of(
      'IpsecSite',
      {
        remote: '10.0.0.1',
        authentication_method: 'psk',
        pre_shared_key: name,
        crypto_proposal: [name],
        connections: [],
      },
      name,
    ),
  'a label that is selected': (name) =>
    of(
      'SdewanApplication',
      {
        appNamespace: namespace,
        podSelector: { matchLabels: { [labelled(name)]: labelled(name) } },
        servicePort: '80',
        cnfPort: '80',
      },
      name,
    ),
  'a CNF for a Service': (name) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `s-${dns(name)}`,
      namespace,
      annotations: {
        'sdewan.akraino.org/expose': name,
        'sdewan.akraino.org/expose-zone': name,
      },
    },
    spec: { ports: [{ port: 80 }] },
  }),
  'what a role grants': (name) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: {
      name: `r-${dns(name)}`,
      namespace,
      annotations: { 'sdewan-bucket-type-permission': JSON.stringify({ [name]: [name] }) },
    },
    rules: [],
  }),
};

/**
 * What the API server says of a webhook that answers otherwise than with a review. One that is late
 * may be so for other reasons.
 */
const brokenIn = (said: string): string[] =>
  said
    .split('\n')
    .filter((line) => /failed calling webhook|internal error/i.test(line))
    .filter((line) => !/deadline exceeded|timeout/i.test(line));

describe('names of Object.prototype', () => {
  it.each(Object.entries(places))('count as %s', async (place, objectWith) => {
    const suffix = Object.keys(places).indexOf(place);
    const objects = NAMES.map(objectWith).map((object) => {
      const metadata = Object(object['metadata']);
      return { ...object, metadata: { ...metadata, name: `${metadata.name}-${suffix}` } };
    });
    const { stdout, stderr } = await fixture.apply(objects);
    expect(brokenIn(stderr)).toEqual([]);
    // Made, or refused with a word about it; kubectl itself may refuse all at once.
    const made = stdout.split('\n').filter(Boolean).length;
    const refused = stderr.match(/Error from server|error|is invalid/gi)?.length ?? 0;
    expect(made + refused).toBeGreaterThan(0);
  });

  it('have broken nothing in the coordinator', () => {
    const said = JSON.stringify(fixture.log);
    expect(said).toContain('pod');
    expect(said).not.toMatch(/TypeError|is not a function|not iterable/);
  });
});
