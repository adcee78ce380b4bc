import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
});
afterAll(() => fixture.close());

const rule = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind,
  metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
  spec,
});

it('accepts a folder in any order: in two applies, or in one where references only warn', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'folder-'));
  const write = (file: string, object: object): Promise<void> =>
    writeFile(join(folder, file), JSON.stringify(object));
  const src = { src: 'lan2', target: 'REJECT' };
  await write('a.json', rule('FirewallRule', 'reject-81', src));
  await write('b.json', rule('FirewallZone', 'lan2', { network: ['a'] }));
  const first = await fixture.kubectl('apply', '-f', folder);
  expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('FirewallZone lan2')]);
  expect(await fixture.kubectl('apply', '-f', folder)).toMatchObject({ code: 0 });
  const warn = { annotations: { 'sdewan.akraino.org/references': 'warn' } };
  const own = { name: 'reject-82', namespace, labels: { sdewanPurpose: 'cnf-1' }, ...warn };
  await write('a.json', rule('FirewallRule', 'reject-82', { ...src, src: 'lan3' }, own));
  await write('b.json', rule('FirewallZone', 'lan3', { network: ['b'] }));
  const atOnce = await fixture.kubectl('apply', '-f', folder);
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
  expect(await fixture.apply([zone, refuse])).toMatchObject({ code: 0 });
  const open = (name: string, spec: object): Promise<{ code: number; stderr: string }> =>
    fixture.apply([
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
  await fixture.kubectl('delete', 'firewallrule', 'a', '-n', namespace, '--wait=false');
  expect((await open('c', { proto: 'tcp', dest_port: 80 })).stderr).not.toContain('no packet');
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
  const first = await fixture.apply([cnf('one', 'cnf-2', {})]);
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('had no label')]);
  const template = '{.spec.template.metadata.labels.sdewanPurpose}';
  const path = ['deployment', 'one', '-n', namespace, '-o', `jsonpath=${template}`];
  expect((await fixture.kubectl('get', ...path)).stdout).toBe('cnf-2');
  const second = await fixture.apply([cnf('two', 'cnf-2', {})]);
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining('Deployment one already serves purpose'),
  ]);
  const wrong = { 'sdewan.akraino.org/agent-driver': 'telnet' };
  const told = await fixture.apply([cnf('three', 'cnf-3', { sdewanPurpose: 'cnf-3' }, wrong)]);
  expect(told.stderr).toContain('will deny the pods: annotation sdewan.akraino.org/agent-driver');
});
