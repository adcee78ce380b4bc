import { expect, it } from 'vitest';
import { fleetPods } from './apps.ts';
import { carryOutActions } from './calls.ts';

const pod = (name: string) =>
  fleetPods.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'edge', uid: `uid-${name}`, creationTimestamp: '' },
    spec: { containers: [] },
  });

it('gives all pods the traffic at once, each by one call, and only then takes it from others', async () => {
  const begun: string[] = [];
  const ending: (() => void)[] = [];
  const client = {
    patch: async (_: unknown, { name }: { name: string }) => {
      begun.push(name);
      await new Promise<void>((resolve) => ending.push(resolve));
      return pod(name);
    },
  };
  const running = carryOutActions(
    [
      { do: 'deactivate', pod: 'old-1' },
      { do: 'activate', pod: 'new-1' },
      { do: 'open', pod: 'new-1' },
      { do: 'open', pod: 'new-2' },
      { do: 'rate', pod: 'new-2', cost: -1 },
    ],
    {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      client: client as never,
      pods: ['old-1', 'new-1', 'new-2'].map(pod),
      now: 0,
      signal: new AbortController().signal,
    },
  );
  expect(begun).toEqual(['new-1', 'new-2']);
  ending[0]?.();
  await new Promise(setImmediate);
  expect(begun).toEqual(['new-1', 'new-2']);
  ending[1]?.();
  await new Promise(setImmediate);
  expect(begun).toEqual(['new-1', 'new-2', 'old-1']);
  ending[2]?.();
  await running;
});
