/**
 * The time of an upgrade: with component `deploy/warn-first` what is refused since this release is taken, and kubectl shows its user the words with which
 * the next installation will refuse it. What is refused at once is refused here, too.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listOf } from '../../stack/installation.ts';
import { rule } from '../../stack/rules.ts';
import { createWorld, type World } from './world.ts';

const TENANT = 'tenant';

let world: World;
let namespace: string;
beforeAll(async () => {
  world = await createWorld({}, undefined, { patienceSeconds: 10, components: ['warn-first'] });
  namespace = await world.createNamespace();
  const role = ['--verb=*', '--resource=*.batch.sdewan.akraino.org', '-n', namespace];
  await world.kubectl('create', 'role', TENANT, ...role);
  const binding = [`--role=${TENANT}`, `--user=${TENANT}`, '-n', namespace];
  await world.kubectl('create', 'rolebinding', TENANT, ...binding);
});
afterAll(() => world.close());

type Result = { code: number; stderr: string };
const asTenant = async (args: readonly string[], objects?: readonly object[]): Promise<Result> =>
  world.cluster.kubectl(['--as', TENANT, '-n', namespace, ...args], {
    allowFailure: true,
    ...(objects && { stdin: listOf(objects) }),
  });
const create = (object: object): Promise<Result> => asTenant(['create', '-f', '-'], [object]);
const named = (kind: string, name: string, spec: object, metadata: object = {}): object => ({
  ...rule(kind, name, { ...spec }),
  metadata: {
    name,
    labels: { sdewanPurpose: 'cnf-1' },
    annotations: { 'sdewan.akraino.org/references': 'off' },
    ...metadata,
  },
});
const withProgram = (name: string, program: string): object =>
  named('IpsecHost', name, {
    remote: '192.0.2.1',
    authentication_method: 'psk',
    pre_shared_key: 'key',
    crypto_proposal: ['p'],
    connections: [{ name, conn_type: 'tunnel', mode: 'add', local_updown: program }],
  });
const warnedOf = (policy: string, message: string): Result => ({
  code: 0,
  stderr: expect.stringMatching(
    new RegExp(`Warning: .*ValidatingAdmissionPolicy '${policy}-.*': ?${message}`),
  ),
});

it('annotations beyond their bound are taken, with a warning', async () => {
  const annotations = { a: 'x'.repeat(70_000) };
  expect(
    await create(named('FirewallZone', 'large', { network: ['net0'] }, { annotations })),
  ).toMatchObject(warnedOf('sdewan-size', '.*metadata.annotations: must be at most'));
});

it('a program that is not listed is taken, with a warning', async () => {
  expect(await create(withProgram('shell', '/bin/sh'))).toMatchObject(
    warnedOf('sdewan-programs', '.*local_updown and remote_updown must be one of /etc/updown'),
  );
});

it('a status by somebody else is taken, with a warning', async () => {
  await create(named('FirewallZone', 'lan', { network: ['net1'] }));
  const status = JSON.stringify({ status: { message: 'x' } });
  const patch = ['patch', 'firewallzone', 'lan', '--subresource=status', '--type=merge', '-p'];
  expect(await asTenant([...patch, status])).toMatchObject(
    warnedOf('sdewan-statuses', '.*status: the coordinator alone writes it'),
  );
});

it('what is within the bounds is taken without a word', async () => {
  expect(await create(withProgram('listed', '/etc/updown'))).toMatchObject({ code: 0, stderr: '' });
});

it('a rule without a purpose is refused all the same', async () => {
  const { code, stderr } = await create(
    named('FirewallZone', 'none', { network: ['net2'] }, { labels: {} }),
  );
  expect(stderr).toContain('sdewanPurpose is required');
  expect(code).not.toBe(0);
});
