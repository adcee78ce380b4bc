import { describe, expect, it } from 'vitest';

import type { KubeClient } from '../kube/client.ts';
import { createPodTokens, renewalDelayMs } from './tokens.ts';

const pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { serviceAccountName: 'sa', containers: [] },
};

const createFake = () => {
  const calls: { path: string; body: unknown }[] = [];
  const time = { now: 0 };
  const client = {
    create: async (path: string, body: unknown) => {
      calls.push({ path, body });
      const expirationTimestamp = new Date(time.now + 600_000).toISOString();
      return { status: { token: `token-${calls.length}`, expirationTimestamp } };
    },
  } as Partial<KubeClient> as KubeClient;
  return { calls, time, tokens: createPodTokens(pod, { client, now: () => time.now }) };
};

describe('pod tokens', () => {
  it('are asked for with their audience and bound to the pod', async () => {
    const { calls, tokens } = createFake();
    await tokens.get({ audience: 'a', expirationSeconds: 600 });
    expect(calls).toEqual([
      {
        path: '/api/v1/namespaces/n/serviceaccounts/sa/token',
        body: expect.objectContaining({
          spec: {
            audiences: ['a'],
            expirationSeconds: 600,
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
          },
        }),
      },
    ]);
  });

  it('stay until 80 % of their lifetime is over', async () => {
    const { time, tokens } = createFake();
    expect(tokens.renewAt()).toBeUndefined();
    expect(await tokens.get({ audience: 'a' })).toBe('token-1');
    expect(tokens.renewAt()).toBe(480_000);
    time.now = 479_999;
    expect(await tokens.get({ audience: 'a' })).toBe('token-1');
    time.now = 480_000;
    expect(await tokens.get({ audience: 'a' })).toBe('token-2');
  });

  it('differ by audience', async () => {
    const { tokens } = createFake();
    expect(await tokens.get({ audience: 'a' })).toBe('token-1');
    expect(await tokens.get({})).toBe('token-2');
  });
});

describe('renewalDelayMs', () => {
  it('is a day at most', () => {
    expect(renewalDelayMs(365 * 86_400_000)).toBe(86_400_000);
  });
});
