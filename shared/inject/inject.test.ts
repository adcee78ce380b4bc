import { describe, expect, it } from 'vitest';
import { inject, uninject } from './inject.ts';
import type { InjectOptions } from './options.ts';
import type { PodTemplate } from './pod.ts';

const options: InjectOptions = {
  image: 'sdewan-agent:test',
  coordinatorUrl: 'https://sdewan-coordinator.sdewan-system.svc',
  coordinatorCaConfigMap: 'sdewan-coordinator-ca',
  openwrtUrl: 'http://127.0.0.1:80',
  driver: 'auto',
  loginSecret: 'cnf-login',
  logLevel: 'info',
  resources: { requests: { memory: '64Mi' }, limits: { memory: '128Mi' } },
};

const cnf = (): PodTemplate => ({
  metadata: { labels: { sdewanPurpose: 'cnf-1' }, annotations: { a: 'b' } },
  spec: {
    serviceAccountName: 'cnf',
    initContainers: [{ name: 'prepare', image: 'busybox' }],
    containers: [{ name: 'sdewan', image: 'openwrt' }],
    volumes: [{ name: 'config', emptyDir: {} }],
  },
});

describe('inject', () => {
  it('puts the agent first among the init containers, as a native sidecar', () => {
    const { spec } = inject(cnf(), options);
    expect(spec.initContainers?.map(({ name }) => name)).toEqual(['sdewan-agent', 'prepare']);
    expect(spec.initContainers?.[0]?.restartPolicy).toBe('Always');
  });

  it('leaves everything else as it was', () => {
    const { spec, metadata } = inject(cnf(), options);
    expect(metadata).toEqual(cnf().metadata);
    expect(spec.containers).toEqual(cnf().spec.containers);
    expect(spec['serviceAccountName']).toBe('cnf');
    expect(spec.volumes?.[0]).toEqual({ name: 'config', emptyDir: {} });
  });

  it('mounts every volume that it adds, and adds every volume that it mounts', () => {
    const { spec } = inject(cnf(), options);
    const added = spec.volumes?.map(({ name }) => name).filter((name) => name !== 'config');
    expect(spec.initContainers?.[0]?.volumeMounts?.map(({ name }) => name)).toEqual(added);
  });

  it('gives the same when done twice', () => {
    const once = inject(cnf(), options);
    expect(inject(once, options)).toEqual(once);
  });

  it('is undone by uninject', () => {
    expect(uninject(inject(cnf(), options))).toEqual(cnf());
  });

  it('refuses a template without purpose', () => {
    expect(() => inject({ spec: { containers: [] } }, options)).toThrow(/sdewanPurpose/);
  });

  it('asks only for probes that touch no network', () => {
    const agent = inject(cnf(), options).spec.initContainers?.[0];
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect(Object.keys(agent?.[probe] as object)).toContain('exec');
    }
  });
});
