/**
 * Somebody has taken the coordinator away, or hangs it: its port takes connections and nothing answers. CNFs whose manifest has the agent get their pods
 * all the same; those that need the webhook wait, and get them when it answers.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { podResource } from '../../coordinator/cnf/workload.ts';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';
import { listOf } from '../stack/installation.ts';
import { sdewan } from '../stack/sdewan.ts';

const REPLICAS = 2;

let world: World;
let folder: string;
beforeAll(async () => {
  // What a coordinator that hangs costs is up to the time limits of the manifests.
  world = await createWorld({}, undefined, {});
  folder = await mkdtemp(join(tmpdir(), 'no-coordinator-'));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

const cnf = (name: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { sdewanPurpose: name } },
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, sdewanPurpose: name } },
      spec: { schedulerName: 'nobody', containers: [{ name: 'openwrt', image: 'none' }] },
    },
  },
});

/** As an operator makes it whose CNFs must not wait. */
const injected = async (name: string): Promise<string> => {
  const file = join(folder, `${name}.json`);
  await writeFile(file, listOf([cnf(name)]));
  const { code, out, said } = await sdewan(
    world.cluster,
    'inject',
    '--without-webhook',
    '-n',
    'edge',
    '-f',
    file,
  );
  if (code !== 0) throw new Error(said);
  return out.replaceAll(/\bnamespace: edge\b/g, '');
};
const podsOf = async (namespace: string, app: string): Promise<number> =>
  (await world.client.list(podResource, { namespace, labelSelector: `app=${app}` })).items.length;

type Absence = { begin: () => Promise<void>; end: () => Promise<void> };
const gone: Absence = {
  begin: () => world.stopCoordinator(),
  end: () => world.startCoordinator(),
};
let frozen = 0;
const hanging: Absence = {
  begin: async () => {
    frozen = world.pid();
    process.kill(frozen, 'SIGSTOP');
  },
  end: async () => {
    process.kill(frozen, 'SIGCONT');
  },
};

describe.each([
  ['gone', gone],
  ['hanging', hanging],
])('while the coordinator is %s', (_, absence) => {
  let ended = true;
  const end = async (): Promise<void> => {
    if (ended) return;
    ended = true;
    await absence.end();
  };
  afterEach(end);

  it('a CNF that brings its agent has all its pods; another gets them once it is back', async () => {
    const namespace = await world.createNamespace();
    const manifest = await injected('brings');
    ended = false;
    await absence.begin();
    const startedAt = performance.now();
    const made = await world.cluster.kubectl(['apply', '-n', namespace, '-f', '-'], {
      stdin: manifest,
    });
    expect(made.code).toBe(0);
    await eventually(() => podsOf(namespace, 'brings')).toBe(REPLICAS);
    console.log(`pods after ${Math.round(performance.now() - startedAt)} ms`);
    const waits = { ...cnf('waits'), metadata: { name: 'waits', namespace } };
    expect(await world.apply([waits])).toMatchObject({ code: 0 });
    const why = async (): Promise<string> =>
      (await world.kubectl('get', 'events', '-n', namespace)).stdout;
    await eventually(why).toMatch(/waits-\S+ +Error creating: .*pods\.sdewan\.akraino\.org/);
    expect(await podsOf(namespace, 'waits')).toBe(0);
    await end();
    await eventually(() => podsOf(namespace, 'waits')).toBe(REPLICAS);
  });
});
