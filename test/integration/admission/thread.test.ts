import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { injectManifest } from '../../../coordinator/cli/inject.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../../../coordinator/settings/env.ts';
import { createWorld, eventually, type World } from './world.ts';

let world: World;
let namespace: string;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
});
afterAll(() => world.close());

const rule = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
  spec,
});

it('answers through the real API server: denied, allowed, with the finalizer, in use', async () => {
  const reject = rule('FirewallRule', 'reject-80', { src: 'lan1', target: 'REJECT' });
  const denied = await world.apply([reject]);
  expect(denied.stderr).toContain('spec.src: FirewallZone lan1 does not exist for purpose cnf-1');
  const both = await world.apply([rule('FirewallZone', 'lan1', { network: ['a'] }), reject]);
  expect(both).toMatchObject({ code: 0 });
  const held = await world.kubectl(
    'get',
    'firewallrule',
    'reject-80',
    '-n',
    namespace,
    '-o',
    'json',
  );
  expect(held.stdout).toContain('sdewan.akraino.org/agents');
  const used = await world.kubectl('delete', 'firewallzone', 'lan1', '-n', namespace);
  expect(used.stderr).toContain('used by FirewallRule reject-80');
});

it('accepts a folder in any order: in two applies, or in one where references only warn', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'folder-'));
  const write = (file: string, object: object): Promise<void> =>
    writeFile(join(folder, file), JSON.stringify(object));
  const src = { src: 'lan2', target: 'REJECT' };
  await write('a.json', rule('FirewallRule', 'reject-81', src));
  await write('b.json', rule('FirewallZone', 'lan2', { network: ['a'] }));
  const first = await world.kubectl('apply', '-f', folder);
  expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('FirewallZone lan2')]);
  expect(await world.kubectl('apply', '-f', folder)).toMatchObject({ code: 0 });
  const warn = { annotations: { 'sdewan.akraino.org/references': 'warn' } };
  const own = { name: 'reject-82', namespace, labels: { sdewanPurpose: 'cnf-1' }, ...warn };
  await write('a.json', rule('FirewallRule', 'reject-82', { ...src, src: 'lan3' }, own));
  await write('b.json', rule('FirewallZone', 'lan3', { network: ['b'] }));
  const atOnce = await world.kubectl('apply', '-f', folder);
  expect([atOnce.code, atOnce.stderr]).toEqual([
    0,
    expect.stringContaining('Warning: spec.src: FirewallZone lan3 does not exist'),
  ]);
  await rm(folder, { recursive: true });
});

it('warns of a rule to which no packet comes, by rules that it keeps and that are there', async () => {
  const zone = rule('FirewallZone', 'lan4', { network: ['c'] });
  const refuse = rule('FirewallRule', 'a', {
    src: 'lan4',
    dest: '*',
    proto: 'tcp',
    target: 'DROP',
  });
  expect(await world.apply([zone, refuse])).toMatchObject({ code: 0 });
  const open = (name: string, spec: object): Promise<{ code: number; stderr: string }> =>
    world.apply([
      rule('FirewallRule', name, { src: 'lan4', dest: '*', target: 'ACCEPT', ...spec }),
    ]);
  const words = 'Warning: spec: no packet comes to it: FirewallRule a decides before it';
  let port = 0;
  // The coordinator learns of the first one by its watch.
  await eventually(
    async () => (await open('b', { proto: 'tcp', dest_port: ++port })).stderr,
  ).toContain(words);
  const other = await open('b', { proto: 'udp', dest_port: 53 });
  expect([other.code, other.stderr]).toEqual([0, expect.not.stringContaining('no packet')]);
  await world.kubectl('delete', 'firewallrule', 'a', '-n', namespace, '--wait=false');
  expect((await open('c', { proto: 'tcp', dest_port: 80 })).stderr).not.toContain('no packet');
});

it('injects a pod and serves its namespace', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cnf', namespace, labels: { sdewanPurpose: 'cnf-1' } },
    spec: { containers: [{ name: 'openwrt', image: 'none' }] },
  };
  const made = await world.apply([pod]);
  expect(made).toMatchObject({ code: 0 });
  const seen = await world.kubectl('get', 'pod', 'cnf', '-n', namespace, '-o', 'json');
  expect(seen.stdout).toContain('sdewan-agent');
  await eventually(
    async () => (await world.kubectl('get', 'rolebinding,configmap', '-n', namespace)).stdout,
  ).toMatch(/rolebinding.*sdewan-agent[\s\S]*sdewan-coordinator-ca/);
});

const cnf = (name: string, purpose: string, templateLabels: object, annotations = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, labels: { sdewanPurpose: purpose } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, ...templateLabels }, annotations },
      spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'none' }] },
    },
  },
});

it('labels the pod template of a CNF, says so, and takes no second one', async () => {
  const first = await world.apply([cnf('one', 'cnf-2', {})]);
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('had no label')]);
  const template = '{.spec.template.metadata.labels.sdewanPurpose}';
  const path = ['deployment', 'one', '-n', namespace, '-o', `jsonpath=${template}`];
  expect((await world.kubectl('get', ...path)).stdout).toBe('cnf-2');
  const second = await world.apply([cnf('two', 'cnf-2', {})]);
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining('Deployment one already serves purpose'),
  ]);
  const wrong = { 'sdewan.akraino.org/agent-driver': 'telnet' };
  const told = await world.apply([cnf('three', 'cnf-3', { sdewanPurpose: 'cnf-3' }, wrong)]);
  expect(told.stderr).toContain('will deny the pods: annotation sdewan.akraino.org/agent-driver');
});

it('denies a pod whose driver icn has no login, and takes it with one', async () => {
  const pod = (annotations: object): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'rest', namespace, labels: { sdewanPurpose: 'cnf-5' }, annotations },
    spec: { containers: [{ name: 'openwrt', image: 'none' }] },
  });
  const agent = 'sdewan.akraino.org/agent';
  const icn = { [`${agent}-driver`]: 'icn' };
  const denied = await world.apply([pod(icn)]);
  expect([denied.code, denied.stderr]).toEqual([
    1,
    expect.stringContaining(
      `annotation ${agent}-driver: icn needs root's login: name its Secret in annotation ${agent}-login-secret`,
    ),
  ]);
  expect(await world.apply([pod({ ...icn, [`${agent}-login-secret`]: 'root' })])).toMatchObject({
    code: 0,
  });
});

it('reports and counts pods of a purpose that have no agent', async () => {
  const metadata = {
    name: 'bare',
    namespace,
    labels: { sdewanPurpose: 'cnf-4' },
    annotations: { 'sdewan.akraino.org/inject': 'false' },
  };
  const spec = { containers: [{ name: 'openwrt', image: 'none' }] };
  expect(await world.apply([{ apiVersion: 'v1', kind: 'Pod', metadata, spec }])).toMatchObject({
    code: 0,
  });
  await eventually(
    async () => (await world.kubectl('get', 'events', '-n', namespace)).stdout,
  ).toMatch(/AgentMissing.*pod\/bare/);
  const metrics = await (await fetch(`${world.httpUrl()}/metrics`)).text();
  expect(metrics).toMatch(/sdewan_coordinator_pods\{[^}]*state="without_agent"\} [1-9]/);
});

it('accepts the output of sdewan inject, and leaves it as it is', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'by-hand', namespace, labels: { sdewanPurpose: 'cnf-5' } },
    spec: { serviceAccountName: 'default', containers: [{ name: 'openwrt', image: 'none' }] },
  };
  const defaults = injectOptionsOf(
    coordinatorEnvSchema.parse({ SDEWAN_AGENT_IMAGE: 'by-hand:1' }),
    'sdewan-system',
  );
  const made = injectManifest(JSON.stringify(pod), { defaults, keyKinds: ['IpsecSite'] });
  const injected: unknown = 'text' in made ? JSON.parse(made.text) : {};
  expect(await world.apply([Object(injected)])).toMatchObject({ code: 0, stderr: '' });
  const image = '{.spec.initContainers[*].image}';
  const seen = await world.kubectl(
    'get',
    'pod',
    'by-hand',
    '-n',
    namespace,
    '-o',
    `jsonpath=${image}`,
  );
  expect(seen.stdout).toBe('by-hand:1');
});
