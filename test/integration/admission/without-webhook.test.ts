/**
 * Pods that bear annotation `without-webhook`, while no coordinator answers: with the agent and an
 * owner they are created, else they are not.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  await fixture.stopCoordinator();
});
afterAll(() => fixture.close());

const AGENT = { name: 'sdewan-agent', image: 'none', restartPolicy: 'Always' };
const OTHER = { name: 'another', image: 'none' };

/** As those of a StatefulSet. */
const OWNER = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  name: 'cnf',
  uid: '00000000-0000-4000-8000-000000000001',
  controller: true,
};

it.each<[string, string, string | undefined, object[], boolean, object[]?]>([
  ['with the annotation and the agent', 'both', 'true', [AGENT], true],
  ['with the agent behind another init container', 'behind', 'true', [OTHER, AGENT], true],
  ['with the annotation alone', 'annotated', 'true', [], false],
  ['with the annotation and another init container', 'other', 'true', [OTHER], false],
  ['with the agent alone', 'agent', undefined, [AGENT], false],
  ['whose annotation says false', 'no', 'false', [AGENT], false],
  ['without an owner', 'bare', 'true', [AGENT], false, []],
  [
    'with an owner that does not control it',
    'owned',
    'true',
    [AGENT],
    false,
    [{ ...OWNER, controller: false }],
  ],
])(
  'lets a pod %s',
  async (_, name, value, initContainers, isCreated, ownerReferences = [OWNER]) => {
    const annotations = value === undefined ? {} : { 'sdewan.akraino.org/without-webhook': value };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels: { sdewanPurpose: 'cnf-1' },
        annotations,
        ownerReferences,
      },
      spec: { initContainers, containers: [{ name: 'openwrt', image: 'none' }] },
    };
    const { code, stderr } = await fixture.apply([pod]);
    const isAsked = stderr.includes('pods.sdewan.akraino.org');
    expect({ code, isAsked }).toEqual(
      isCreated ? { code: 0, isAsked: false } : { code: 1, isAsked: true },
    );
  },
);
