import { describe, expect, it } from 'vitest';

import type { EnvVar, Pod } from '../kube/objects.ts';
import { buildEnvironment, expandVariables, readField, type ObjectSources } from './environment.ts';

const pod: Pod = {
  metadata: {
    name: 'p',
    namespace: 'n',
    uid: 'u',
    labels: { app: 'web', 'example.org/x': 'y' },
    annotations: { 'k8s.plugin.opnfv.org/nfn-network': '{"a": 1}' },
  },
  spec: { serviceAccountName: 'sa', containers: [] },
};
const facts = { podIP: '127.1.2.3', hostIP: '127.0.0.1', nodeName: 'node', environment: {} };
const metadata = { name: 'o', namespace: 'n', uid: 'o' };
const sources: ObjectSources = {
  configMap: async (name) =>
    name === 'map' ? { metadata, data: { a: '1', b: '$(X)' } } : undefined,
  secret: async (name) => (name === 'secret' ? { metadata, data: { p: 'cMOk' } } : undefined),
};
const build = async (env: EnvVar[], envFrom = {}) =>
  await buildEnvironment(pod, { name: 'c', image: 'i', env, ...envFrom }, facts, sources);

describe('buildEnvironment', () => {
  it.each<[string, EnvVar['valueFrom'], string]>([
    ['a label', { fieldRef: { fieldPath: "metadata.labels['example.org/x']" } }, 'y'],
    [
      'an annotation',
      { fieldRef: { fieldPath: "metadata.annotations['k8s.plugin.opnfv.org/nfn-network']" } },
      '{"a": 1}',
    ],
    ['a label that is not there', { fieldRef: { fieldPath: "metadata.labels['z']" } }, ''],
    ['the pod address', { fieldRef: { fieldPath: 'status.podIP' } }, '127.1.2.3'],
    ['the service account', { fieldRef: { fieldPath: 'spec.serviceAccountName' } }, 'sa'],
    [
      'a ConfigMap key, which is not expanded',
      { configMapKeyRef: { name: 'map', key: 'b' } },
      '$(X)',
    ],
    ['a Secret key', { secretKeyRef: { name: 'secret', key: 'p' } }, 'pä'],
  ])('reads %s', async (_, valueFrom, expected) => {
    expect(await build([{ name: 'V', valueFrom: valueFrom ?? {} }])).toEqual({ V: expected });
  });

  it('expands variables that came before, and no others', async () => {
    const env = await build([
      { name: 'A', value: 'a' },
      { name: 'B', value: '$(A)/$(C)/$$(A)' },
      { name: 'C', value: 'c' },
    ]);
    expect(env['B']).toBe('a/$(C)/$(A)');
  });

  it('knows the API server, which variables can refer to', async () => {
    const withServer = { ...facts, environment: { KUBERNETES_SERVICE_HOST: '127.0.0.1' } };
    const env = [{ name: 'URL', value: 'https://$(KUBERNETES_SERVICE_HOST)' }];
    const container = { name: 'c', image: 'i', env };
    expect((await buildEnvironment(pod, container, withServer, sources))['URL']).toBe(
      'https://127.0.0.1',
    );
  });

  it('takes whole objects with a prefix, below the single variables', async () => {
    const env = await build([{ name: 'P_a', value: 'mine' }], {
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'map' } }, { secretRef: { name: 'secret' } }],
    });
    expect(env).toEqual({ P_a: 'mine', P_b: '$(X)', p: 'pä' });
  });

  it.each<[string, EnvVar['valueFrom'], string]>([
    ['ConfigMap', { configMapKeyRef: { name: 'none', key: 'a' } }, 'configmap "none" not found'],
    ['key', { secretKeyRef: { name: 'secret', key: 'q' } }, "couldn't find key q in secret secret"],
  ])('refuses a missing %s unless it is optional', async (_, valueFrom, message) => {
    await expect(build([{ name: 'V', valueFrom: valueFrom ?? {} }])).rejects.toThrow(message);
    const optional = Object.fromEntries(
      Object.entries(valueFrom ?? {}).map(([key, value]) => [key, { ...value, optional: true }]),
    );
    expect(await build([{ name: 'V', valueFrom: optional }])).toEqual({});
  });
});

describe('readField', () => {
  it('writes all labels as sorted lines', () => {
    expect(readField(pod, 'metadata.labels', facts)).toBe('app="web"\nexample.org/x="y"');
  });
});

describe('expandVariables', () => {
  it.each([
    ['$(A)', '1'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $( $(', '$A $( $('],
  ])('%s becomes %s', (text, expected) => {
    expect(expandVariables(text, { A: '1' })).toBe(expected);
  });
});
