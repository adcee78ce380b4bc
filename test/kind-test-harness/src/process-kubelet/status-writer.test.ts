import { expect, it } from 'vitest';

import type { KubeClient } from '../kube/client.ts';
import type { Pod, PodStatus } from '../kube/objects.ts';
import { createStatusWriter } from './status-writer.ts';

const statusOf = (ready: boolean): PodStatus => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
});

it('writes again what somebody else has changed, and nothing that is as it was', async () => {
  const written: unknown[] = [];
  const client = {
    patch: async (_path: string, { status }: { status: PodStatus }) => written.push(status),
  } as unknown as KubeClient;
  const pod = { metadata: { namespace: 'a', name: 'b', uid: 'c' } } as Pod;
  const { signal } = new AbortController();
  const writer = createStatusWriter(pod, { client, onError: () => undefined, signal });

  writer.observe(undefined);
  writer.publish(statusOf(true));
  await writer.flush();
  writer.publish(statusOf(true));
  const gate = { type: 'example.org/gate', status: 'False' } as const;
  writer.observe({ conditions: [gate, ...(statusOf(true).conditions ?? [])] });
  await writer.flush();
  expect(written).toEqual([statusOf(true)]);

  writer.observe(statusOf(false));
  writer.observe(statusOf(false));
  await writer.flush();
  expect(written).toEqual([statusOf(true), statusOf(true)]);
});
