/** `sdewan rollout` on a roll-out that waits for a rule which never comes. */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { apply } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { applyFleet, policyOn, PURPOSE, serves, waitForFleet } from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());
const RULE = 'Mwan3Policy late';

it('does with each command of sdewan rollout what docs/fleet.md says', async () => {
  const namespace = await cluster.createNamespace('rollout');
  const cnf = { namespace, replicas: 1, rules: 0, spec: { soakSeconds: 1 } };
  const rollout = (action: string, ...options: string[]) =>
    sdewan(cluster, 'rollout', action, PURPOSE, '-n', namespace, ...options);
  const done = async (action: string, ...options: string[]): Promise<string> => {
    const { code, out, said } = await rollout(action, ...options);
    expect([code, said]).toEqual([0, '']);
    return out;
  };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  await applyFleet(cluster, { ...cnf, version: '1', lateMs: 0 });
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(1));
  expect(await done('status')).toMatch(
    new RegExp(
      `^${PURPOSE}: Current, for \\d+s: 1 of 1 pods are ready\nserves: revision 1 \\(${first.currentRevision}\\)\n$`,
    ),
  );

  await applyFleet(cluster, { ...cnf, version: '2', lateMs: -1 });
  const isWaiting = ({ stage, waitsFor }: typeof first): boolean =>
    stage === 'Connected' && waitsFor?.length === 1 && (waitsFor[0]?.includes(RULE) ?? false);
  const waiting = await waitForFleet(cluster, namespace, 'the second set waits', isWaiting);
  const told = await rollout('status');
  expect(told.code).toBe(1);
  expect(told.out).toContain(`waits for: ${RULE}: `);
  expect(told.out).toContain(`staged: revision 2 (${waiting.stagedRevision})`);
  const history = await done('history');
  expect(history).toMatch(new RegExp(`^2 +${waiting.stagedRevision} +staged +1 `, 'm'));
  expect(history).toMatch(new RegExp(`^1 +${first.currentRevision} +serves +1 `, 'm'));

  expect(await done('pause')).toBe(`${PURPOSE}: paused\n`);
  await waitForFleet(cluster, namespace, 'it says that it is paused', ({ waitsFor = [] }) =>
    waitsFor.includes('spec.paused is true'),
  );
  expect((await rollout('promote')).said).toContain('is paused: resume it first');
  expect(await done('resume')).toBe(`${PURPOSE}: resumed\n`);
  await waitForFleet(cluster, namespace, 'the second set waits again', isWaiting);

  await done('promote');
  await waitForFleet(
    cluster,
    namespace,
    'the second set serves without its rule',
    ({ stage, currentRevision }) =>
      stage === 'Current' && currentRevision === waiting.stagedRevision,
  );
  expect(await done('undo')).toContain('again');
  const back = await waitForFleet(
    cluster,
    namespace,
    'a set of the first template serves',
    serves(1, waiting.stagedRevision),
  );
  expect(back.currentRevision).toBe(first.currentRevision);

  await done('restart');
  await waitForFleet(
    cluster,
    namespace,
    'another set is made',
    ({ stagedRevision }) => stagedRevision !== undefined,
  );
  await done('undo');
  const ended = await rollout('status', '--timeout', '60');
  expect(ended.code).toBe(0);
  expect(ended.out).toMatch(
    new RegExp(`^serves: revision \\d+ \\(${first.currentRevision}\\)$`, 'm'),
  );
});
