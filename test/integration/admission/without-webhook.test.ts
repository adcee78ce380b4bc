/** Pods that bear annotation `without-webhook`, while no coordinator answers: with the agent they are created, without it they are not. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, type World } from './world.ts';

let world: World;
let namespace: string;
beforeAll(async () => {
  world = await createWorld();
  namespace = await world.createNamespace();
  await world.stopCoordinator();
});
afterAll(() => world.close());

const AGENT = { name: 'sdewan-agent', image: 'none', restartPolicy: 'Always' };
const OTHER = { name: 'another', image: 'none' };

it.each<[string, string, string | undefined, object[], boolean]>([
  ['with the annotation and the agent', 'both', 'true', [AGENT], true],
  ['with the agent behind another init container', 'behind', 'true', [OTHER, AGENT], true],
  ['with the annotation alone', 'annotated', 'true', [], false],
  ['with the annotation and another init container', 'other', 'true', [OTHER], false],
  ['with the agent alone', 'agent', undefined, [AGENT], false],
  ['whose annotation says false', 'no', 'false', [AGENT], false],
])('a pod %s', async (_, name, value, initContainers, isCreated) => {
  const annotations = value === undefined ? {} : { 'sdewan.akraino.org/without-webhook': value };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { sdewanPurpose: 'cnf-1' }, annotations },
    spec: { initContainers, containers: [{ name: 'openwrt', image: 'none' }] },
  };
  const { code, stderr } = await world.apply([pod]);
  const isAsked = stderr.includes('pods.sdewan.akraino.org');
  expect({ code, isAsked }).toEqual(
    isCreated ? { code: 0, isAsked: false } : { code: 1, isAsked: true },
  );
});
