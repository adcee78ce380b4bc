/** An application follows its pods on the real API server. */
import { expect, it } from 'vitest';
import { sdewanApplication } from '#shared/resources/rules/sdewan-application.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { podResource } from '../coordinator/pods.ts';
import type { World } from '../coordinator/world.ts';
import { eventually } from './eventually.ts';

const ANNOTATION = 'sdewan.akraino.org/pod-addresses';

export const podsSuite = (worldNow: () => World): void => {
  it('an application follows its pods: sorted, those that run only, as its selector changes', async () => {
    const { client, namespace } = worldNow();
    const addresses = async () =>
      (await client.get(sdewanApplication, { namespace, name: 'app' })).metadata.annotations?.[
        ANNOTATION
      ];
    const createPod = (name: string, labels: object): Promise<KubeObject> =>
      client.create(podResource, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels },
        spec: { schedulerName: 'nobody', containers: [{ name: 'c', image: 'none' }] },
      });
    const setPod = (name: string, phase: string, ...ips: string[]): Promise<KubeObject> => {
      const podIPs = ips.map((ip) => ({ ip }));
      const body = { status: { phase, podIPs, ...(ips[0] && { podIP: ips[0] }) } };
      const patch = { type: 'merge', body } as const;
      return client.patch(podResource, { namespace, name }, { patch, subresource: 'status' });
    };
    await createPod('web-2', { app: 'web', tier: 'front' });
    await setPod('web-2', 'Running', '10.244.0.9');
    await createPod('web-pending', { app: 'web', tier: 'front' });
    await createPod('other', { app: 'other' });
    await setPod('other', 'Running', '10.244.0.1');

    await client.create(sdewanApplication, {
      apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
      kind: 'SdewanApplication',
      metadata: { name: 'app', namespace, labels: { sdewanPurpose: 'cnf-1' } },
      spec: { podSelector: { matchLabels: { app: 'web' } }, appNamespace: namespace },
    });
    await eventually(addresses).toBe('10.244.0.9');
    await createPod('web-1', { app: 'web', tier: 'back' });
    await setPod('web-1', 'Running', '10.244.0.10', 'fd00:244::a');
    await eventually(addresses).toBe('10.244.0.10,10.244.0.9,fd00:244::a');

    const matchExpressions = [{ key: 'tier', operator: 'NotIn', values: ['back'] }];
    const narrower = {
      type: 'merge',
      body: { spec: { podSelector: { matchExpressions } } },
    } as const;
    await client.patch(sdewanApplication, { namespace, name: 'app' }, { patch: narrower });
    await eventually(addresses).toBe('10.244.0.9');
    await client.delete(podResource, { namespace, name: 'web-2' }, { gracePeriodSeconds: 0 });
    await eventually(addresses).toBe('');
    expect(await addresses()).toBe('');
  });
};
