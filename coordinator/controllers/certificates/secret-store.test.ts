import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import {
  isProvided,
  readMaterial,
  writeMaterial,
  type Material,
  type SecretData,
} from './material.ts';
import { createSecretStore } from './secret-store.ts';
import { createCa, issueServing } from './x509.ts';

const tokens = [{ token: 'a'.repeat(32), since: 1 }];
const validity = { issuedAt: Date.now(), lifetimeMs: 86_400_000 };
const { signal } = new AbortController();

let material: Material;
let stored: { resourceVersion: string; data: SecretData } | undefined;

const refusal = (status: number): KubeError =>
  new KubeError('write', 'no', { status, reason: 'No' });

/** One Secret as an API server keeps it. */
const client = {
  get: async () => {
    if (!stored) throw refusal(404);
    return { data: stored.data, metadata: { resourceVersion: stored.resourceVersion } };
  },
  create: async (_resource: unknown, { data }: { data: SecretData }) => {
    if (stored) throw refusal(409);
    stored = { resourceVersion: '1', data };
  },
  patch: async (
    _resource: unknown,
    _key: unknown,
    { patch }: { patch: { body: { metadata?: { resourceVersion?: string }; data: SecretData } } },
  ) => {
    if (!stored) throw refusal(404);
    const version = patch.body.metadata?.resourceVersion ?? stored.resourceVersion;
    if (version !== stored.resourceVersion) throw refusal(409);
    const data = Object.entries({ ...stored.data, ...patch.body.data });
    stored = {
      resourceVersion: String(Number(version) + 1),
      data: Object.fromEntries(data.filter(([, value]) => value !== null)),
    };
  },
} as unknown as KubeClient;
const store = createSecretStore(client, { namespace: 'n', name: 's' });

beforeEach(async () => {
  stored = undefined;
  const ca = await createCa('a', validity);
  const serving = await issueServing(ca, ['localhost'], validity);
  material = { serving, trusted: [ca.cert], signing: ca, next: undefined, tokens };
});

describe('the certificate Secret', () => {
  it('is made, and read as it was written', async () => {
    const before = await store.read(signal);
    expect(before).toEqual({ material: undefined, provided: false, secret: undefined });
    expect(await store.write(material, before, signal)).toBe(true);
    expect(await store.read(signal)).toMatchObject({ material, provided: false });
  });

  it('is written by one of two replicas that try; the other reads it', async () => {
    const before = await store.read(signal);
    const next = await createCa('b', validity);
    expect(await store.write(material, before, signal)).toBe(true);
    expect(await store.write({ ...material, next }, before, signal)).toBe(false);
    const read = await store.read(signal);
    expect(await store.write({ ...material, next }, read, signal)).toBe(true);
    expect(await store.write(material, read, signal)).toBe(false);
    expect((await store.read(signal)).material).toEqual({ ...material, next });
  });

  it('drops keys that are no longer part of the material', async () => {
    const next = await createCa('b', validity);
    await store.write({ ...material, next }, await store.read(signal), signal);
    await store.write(material, await store.read(signal), signal);
    expect((await store.read(signal)).material).toEqual(material);
  });
});

describe('what a Secret holds', () => {
  const dataOf = (changes: Partial<Material>): SecretData =>
    writeMaterial({ ...material, ...changes });

  it('is used where one of its CAs has signed what is served, and only there', async () => {
    const other = await createCa('b', validity);
    const both = [other.cert, material.trusted[0] ?? ''];
    expect(readMaterial(dataOf({ trusted: both }))?.trusted).toEqual(both);
    expect(readMaterial(dataOf({ trusted: [other.cert] }))).toBeUndefined();
    expect(readMaterial({ ...dataOf({}), 'tls.crt': 'garbage' })).toBeUndefined();
  });

  it('belongs to others when there is no CA to sign with', () => {
    expect(isProvided(dataOf({ signing: undefined }))).toBe(true);
    expect(isProvided(dataOf({}))).toBe(false);
    expect(isProvided(undefined)).toBe(false);
  });
});
