/**
 * Tunnels that a rule has made, once it goes or changes: a charon goes on with what is up. On a
 * device: conformance/ipsec.test.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './agent/support/openwrt.ts';
import { cr, deleted, openPass, zone } from './agent/support/pass.ts';

let openwrt: TestOpenwrt;
afterEach(() => openwrt.stop());

const proposal = cr('IpsecProposal', 'p', {
  encryption_algorithm: 'aes256',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});
const site = (name: string, options: object = {}, metadata = {}) =>
  cr(
    'IpsecSite',
    name,
    {
      remote: '203.0.113.9',
      authentication_method: 'psk',
      pre_shared_key: 'k',
      crypto_proposal: ['p'],
      connections: ['one', 'two'].map((connection) => ({
        name: `${name}-${connection}`,
        conn_type: 'tunnel',
        mode: 'add',
        ...options,
      })),
    },
    metadata,
  );
const ADMINISTRATORS = `
config remote 'theirs'
	option enabled '1'
	list child 'theirs_net'
`;

const start = async (options: OpenwrtOptions) => {
  openwrt = await startOpenwrt({ ipsecScript: 'swanctl', ...options });
  openwrt.write('ipsec', openwrt.text('ipsec') + ADMINISTRATORS);
  return openPass(openwrt);
};
/** Name -> number, as charon has them now. */
const up = async (): Promise<Record<string, string>> => {
  const listed = await openwrt.simulator.shell('/usr/sbin/swanctl', '--list-sas');
  const lines = listed === 'timeout' ? '' : listed.stdout;
  return Object.fromEntries(
    [...lines.matchAll(/^ *(\w+): #(\d+), /gm)].map(([, name = '', id = '']) => [name, id]),
  );
};

describe('with a login of its own, the agent', () => {
  it('ends what a rule has made when it goes, and nothing else, before it says that it is removed', async () => {
    const pass = await start({ login: 'mounted' });
    await pass.run([proposal, site('a'), site('b')]);
    const before = await up();
    expect(Object.keys(before)).toHaveLength(8);
    await pass.run([proposal, deleted(site('a')), site('b')]);
    expect(pass.states()).toMatchObject({ a: 'Removed', b: 'Applied' });
    const { a: _a, a_one: _one, a_two: _two, ...others } = before;
    expect(await up()).toEqual(others);
    await pass.driver.close();
  });

  it('ends what has changed, so that it comes up anew, and leaves the rest of the remote', async () => {
    const pass = await start({ login: 'mounted' });
    await pass.run([proposal, site('a')]);
    const before = await up();
    const changed = site('a', { local_subnet: '10.9.0.0/16' }, { generation: 2 });
    await pass.run([proposal, changed]);
    const after = await up();
    expect(Object.keys(after).filter((name) => after[name] !== before[name])).toEqual([
      'a_one',
      'a_two',
    ]);
    await pass.driver.close();
  });
});

it('begins what an agent has written that died before it could begin it', async () => {
  const pass = await start({ login: 'mounted' });
  const mode = { mode: 'start' };
  await pass.run([proposal, site('a', mode), site('b', { mode: 'route' })]);
  const { signal } = new AbortController();
  await pass.driver.read(signal);
  const nothing = { package: 'ipsec', remove: [], set: [], append: [] };
  await pass.driver.apply([nothing], signal, ['a', 'a/old']);
  const told = readFileSync(
    join(openwrt.simulator.rootDirectory, 'tmp/sdewan-kernel/tunnels'),
    'utf8',
  );
  const begun = ['install b b_one', 'install b b_two', 'start a a_one', 'start a a_two'];
  expect(told.split('\n').filter((line) => /^(install|start) /.test(line))).toEqual(begun);
  await pass.driver.close();
});

it('rules of other packages are applied while charon hangs, and those of IPsec say so', async () => {
  const pass = await start({ login: 'mounted' });
  await pass.run([proposal, site('a')]);
  const { faults } = openwrt.simulator;
  faults.add({ object: 'file', contains: '"tunnels"', action: { kind: 'hang' } });
  await openwrt.clock.advance(60_000);
  const begunAt = openwrt.clock.agent.monotonic();
  await pass.run([proposal, site('a'), zone('lan1', 'ovn-net1')]);
  expect(pass.states()).toMatchObject({ a: 'Pending: NotInForce', lan1: 'Applied' });
  expect(openwrt.clock.agent.monotonic() - begunAt).toBeLessThan(20_000);
  await pass.driver.close();
});

describe('what is up stays, and its rule says so,', () => {
  const LEFT = 'tunnels of before may still be up, which the agent cannot end on this OpenWRT: a';

  it.each<[string, OpenwrtOptions]>([
    ['with a login without the program of the agent', { login: 'own' }],
    ['with the classic service', { login: 'mounted', ipsecScript: 'icn' }],
  ])('%s', async (_what, options) => {
    const pass = await start(options);
    const saying = () => pass.reports().find(({ name }) => name === 'a');
    await pass.run([proposal, site('a')]);
    expect(saying()?.message).not.toContain(LEFT);
    const changed = cr('IpsecSite', 'a', { ...Object(site('a').spec), remote: '203.0.113.10' });
    await pass.run([proposal, changed]);
    expect(saying()).toMatchObject({ reason: 'AppliedInFiles' });
    expect(saying()?.message).toContain(LEFT);
    await pass.run([proposal, deleted(changed)]);
    expect(saying()).toMatchObject({ state: 'Removed', message: `${LEFT}, a/a_one, a/a_two` });
    await pass.driver.close();
  });
});
