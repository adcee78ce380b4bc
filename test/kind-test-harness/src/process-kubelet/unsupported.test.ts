import { expect, it } from 'vitest';

import { listUnsupported } from './unsupported.ts';

const metadata = { name: 'p', namespace: 'n', uid: 'u' };
const probe = { periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 1 };

it('finds nothing in a plain pod as the API server stores it', () => {
  const spec = {
    restartPolicy: 'Always' as const,
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    hostNetwork: false,
    securityContext: {},
    containers: [
      {
        name: 'main',
        image: 'i',
        args: ['x'],
        imagePullPolicy: 'IfNotPresent',
        resources: { requests: { cpu: '1' } },
        volumeMounts: [{ name: 'token', mountPath: '/token', readOnly: true }],
      },
    ],
    volumes: [{ name: 'token', projected: { sources: [] } }],
  };
  expect(listUnsupported({ metadata, spec })).toEqual([]);
});

it('finds everything that a process can not have, by its path', () => {
  const spec = {
    hostNetwork: true,
    securityContext: { fsGroup: 1 },
    initContainers: [{ name: 'side', image: 'i', securityContext: { privileged: true } }],
    containers: [
      {
        name: 'main',
        image: 'i',
        command: ['x'],
        livenessProbe: { ...probe, grpc: { port: 1 } },
        volumeMounts: [{ name: 'data', mountPath: '/data', readOnly: true }],
        resources: { limits: { cpu: '1' } },
      },
    ],
    volumes: [{ name: 'data', emptyDir: {} }],
  };
  expect(listUnsupported({ metadata, spec })).toEqual([
    'spec.hostNetwork',
    'spec.securityContext',
    'side.securityContext',
    'main.command (the registered process stands for the image)',
    'main.resources.limits',
    'main.livenessProbe.grpc',
    'main.volumeMounts[data].readOnly',
  ]);
});
