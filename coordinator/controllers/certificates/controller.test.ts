import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '#shared/runtime/clock.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createCertificates, type Certificates } from './controller.ts';
import type { Material } from './material.ts';
import type { CertificatePolicy } from './decide.ts';
import type { SecretStore, StoredMaterial } from './secret-store.ts';
import { isSignedBy } from './x509.ts';

const HOUR = 3_600_000;
const policy: CertificatePolicy = {
  names: ['coordinator.svc'],
  caLifetimeMs: 300 * HOUR,
  servingLifetimeMs: 30 * HOUR,
  overlapMs: 10 * HOUR,
};

const secretOf = (resourceVersion: string): NonNullable<StoredMaterial['secret']> => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'n', name: 's', uid: 'u', resourceVersion, creationTimestamp: '' },
});

/** One Secret as the API server keeps it: a write over an old version loses. */
const newSecret = () => {
  const state = {
    material: undefined as Material | undefined,
    version: 0,
    writes: 0,
    provided: false,
  };
  const store: SecretStore = {
    read: async () => ({
      material: state.material,
      provided: state.provided,
      secret: state.version === 0 ? undefined : secretOf(String(state.version)),
    }),
    write: async (material: Material, over: StoredMaterial) => {
      if ((over.secret?.metadata.resourceVersion ?? '0') !== String(state.version)) return false;
      Object.assign(state, { material, version: state.version + 1, writes: state.writes + 1 });
      return true;
    },
  };
  return { state, store };
};

const POLL_MS = 60_000;

const newReplica = (store: SecretStore, time: { now: number }) => {
  const published: string[] = [];
  const tokens: string[] = [];
  const replica: Certificates = createCertificates({
    store,
    policy,
    publish: async ({ bundle, token }) => {
      published.push(bundle);
      tokens.push(token);
      return true;
    },
    pollMs: POLL_MS,
    metrics: NO_METRICS,
    leadership: ALWAYS_LEADING,
    clock: { now: () => time.now } as Clock,
    log: silentLogger,
  });
  return { replica, published, tokens };
};

const { signal } = new AbortController();

describe('the certificates of several replicas', () => {
  it('are the same, with one write per step, whichever replica is first', async () => {
    const { state, store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    const replicas = [1, 2, 3].map(() => newReplica(store, time).replica);
    let steps = 0;
    for (let hour = 0; hour < 800; hour += 1) {
      const before = state.writes;
      await Promise.all(replicas.map((replica) => replica.prepare(signal)));
      steps += state.writes - before;
      const served = new Set(replicas.map((replica) => replica.serving().cert));
      expect(served.size).toBe(1);
      const [first] = replicas;
      const bundle = first?.bundle() ?? '';
      expect(
        bundle.split(/(?=-----BEGIN)/).some((ca) => isSignedBy([...served][0] ?? '', ca)),
      ).toBe(true);
      time.now += HOUR;
    }
    expect(steps).toBe(state.writes);
    expect(steps).toBeLessThan(60);
  });

  it('call back once for each change', async () => {
    const { store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    const { replica } = newReplica(store, time);
    const pairs: string[] = [];
    const bundles: string[] = [];
    replica.onServing(({ cert }) => pairs.push(cert));
    replica.onBundle((bundle) => bundles.push(bundle));
    await replica.prepare(signal);
    await replica.prepare(signal);
    expect([pairs.length, bundles.length]).toEqual([1, 1]);
    time.now += 21 * HOUR;
    await replica.prepare(signal);
    expect([pairs.length, bundles.length]).toEqual([2, 1]);
    expect(pairs[1]).toBe(replica.serving().cert);
  });
});

describe('the paths of the webhooks', () => {
  it('end in one token for all replicas, which is renewed with the certificate and used once all replicas know it', async () => {
    const { store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    const [leader, other] = [newReplica(store, time), newReplica(store, time)];
    await leader.replica.prepare(signal);
    const [old = ''] = leader.tokens;
    await other.replica.prepare(signal);
    expect([other.replica.isGoodToken(old), other.tokens.at(-1)]).toEqual([true, old]);

    time.now += 21 * HOUR;
    await leader.replica.prepare(signal);
    expect(leader.tokens.at(-1)).toBe(old);
    time.now += 3 * POLL_MS;
    await leader.replica.prepare(signal);
    const renewed = leader.tokens.at(-1) ?? '';
    expect(renewed).not.toBe(old);
    await other.replica.prepare(signal);
    for (const { replica } of [leader, other])
      expect([replica.isGoodToken(renewed), replica.isGoodToken(old)]).toEqual([true, true]);
    time.now += HOUR;
    for (const { replica } of [leader, other])
      expect([replica.isGoodToken(renewed), replica.isGoodToken(old)]).toEqual([true, false]);
  });

  it('get a token for a Secret of a version that had none', async () => {
    const { state, store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    await newReplica(store, time).replica.prepare(signal);
    if (state.material) state.material = { ...state.material, tokens: [] };
    const { replica, tokens } = newReplica(store, time);
    await replica.prepare(signal);
    expect(tokens.at(-1)).toMatch(/^[0-9a-f]{32}$/);
    expect(replica.isGoodToken(tokens.at(-1) ?? '')).toBe(true);
  });

  it('end in a token derived from the key where the Secret is another’s, so that it is the same for all replicas', async () => {
    const { state, store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    await newReplica(store, time).replica.prepare(signal);
    Object.assign(state, { provided: true });
    const [one, other] = [newReplica(store, time), newReplica(store, time)];
    await one.replica.prepare(signal);
    await other.replica.prepare(signal);
    expect(one.tokens).toEqual(other.tokens);
    expect(other.replica.isGoodToken(one.tokens[0] ?? '')).toBe(true);
  });
});

describe('the certificate loop', () => {
  it('serves, but changes nothing, while the CA cannot be published', async () => {
    const { state, store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    const replica = createCertificates({
      store,
      policy,
      publish: () => Promise.reject(new Error('forbidden')),
      pollMs: HOUR,
      metrics: NO_METRICS,
      leadership: ALWAYS_LEADING,
      clock: { now: () => time.now, sleep: async () => {} } as unknown as Clock,
      log: silentLogger,
    });
    await replica.prepare(signal);
    expect(replica.serving().cert).toContain('BEGIN CERTIFICATE');
    time.now += 250 * HOUR;
    await replica.prepare(signal);
    expect(state.writes).toBe(1);
  });

  it('is ready when the API server knows the CA, also one that refuses it at first', async () => {
    const { store } = newSecret();
    let refusals = 3;
    const published: string[] = [];
    const replica = createCertificates({
      store,
      policy,
      publish: async ({ bundle }) => {
        refusals -= 1;
        if (refusals >= 0) throw new Error('forbidden');
        published.push(bundle);
        return true;
      },
      pollMs: HOUR,
      metrics: NO_METRICS,
      leadership: ALWAYS_LEADING,
      clock: { now: () => 0, sleep: async () => {} } as unknown as Clock,
      log: silentLogger,
    });
    await replica.prepare(signal);
    expect(published).toEqual([replica.bundle()]);
  });

  it('looks every second for webhook configurations that do not exist yet, for a minute', async () => {
    const { store } = newSecret();
    const waits: number[] = [];
    const stop = new AbortController();
    const looks = { left: 70 };
    const replica = createCertificates({
      store,
      policy,
      publish: async () => false,
      pollMs: 10_000,
      metrics: NO_METRICS,
      leadership: ALWAYS_LEADING,
      clock: {
        ...systemClock,
        now: () => 0,
        monotonic: () => 0,
        after: (ms, then) => {
          waits.push(ms);
          looks.left -= 1;
          if (looks.left === 0) stop.abort();
          return systemClock.after(0, then);
        },
        sleep: (_ms, until) => systemClock.sleep(60_000, until),
      },
      log: silentLogger,
    });
    await replica.prepare(signal);
    await replica.run(stop.signal);
    expect(waits.filter((ms) => ms === 1_000).length).toBe(59);
    expect(waits.at(-1)).toBe(10_000);
  });

  it('never writes a Secret that others provide, and publishes its CA', async () => {
    const { state, store } = newSecret();
    const time = { now: Date.UTC(2026, 0, 1) };
    await newReplica(store, time).replica.prepare(signal);
    Object.assign(state, { provided: true });
    time.now += 1_000 * HOUR;
    const { replica, published } = newReplica(store, time);
    await replica.prepare(signal);
    expect(state.writes).toBe(1);
    expect(published).toEqual([replica.bundle()]);
  });

  it('refuses a provided certificate that its ca.crt has not signed', async () => {
    const store: SecretStore = {
      read: async () => ({ material: undefined, provided: true, secret: secretOf('1') }),
      write: async () => true,
    };
    const { replica } = newReplica(store, { now: 0 });
    await expect(replica.prepare(signal)).rejects.toThrow(/ca\.crt/);
    expect(() => replica.serving()).toThrow(/no certificate/);
  });
});
