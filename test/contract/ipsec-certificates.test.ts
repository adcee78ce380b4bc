/**
 * Certificates and keys of IPsec remotes: files on the OpenWRT that come before what refers to
 * them, and go after it.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pemOf } from '#shared/compile/testing.ts';
import { secretKey } from '#shared/compile/types.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './agent/support/openwrt.ts';
import { cr, openPass, type TestPass } from './agent/support/pass.ts';
import { STRIDE } from './each-call.ts';

const SIMULATOR = join(import.meta.dirname, '../openwrt/simulator');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const certificate = (of: string): string => pemOf('CERTIFICATE', `certificate of ${of}`);
const KEY = pemOf('PRIVATE KEY', 'the key of this side');
const secrets = new Map([[secretKey('vpn', 'tls.key'), KEY]]);

const proposal = cr('IpsecProposal', 'p1', {
  encryption_algorithm: 'aes256gcm16',
  hash_algorithm: 'sha384',
  dh_group: 'curve25519',
});
const remote = (name: string, options: object = {}) =>
  cr('IpsecSite', name, {
    remote: '203.0.113.9',
    authentication_method: 'pubkey',
    crypto_proposal: ['p1'],
    local_public_cert: base64(certificate('us')),
    local_private_cert_from: { name: 'vpn', key: 'tls.key' },
    shared_ca: base64(certificate('the CA')),
    connections: [{ name: `${name}-net`, conn_type: 'tunnel', mode: 'start' }],
    ...options,
  });

/** Folders for the own certificate, the key and the CA. */
const FOLDERS = {
  icn: ['/etc/ipsec.d/certs', '/etc/ipsec.d/private', '/etc/ipsec.d/cacerts'],
  swanctl: ['/etc/swanctl/x509', '/etc/swanctl/private', '/etc/swanctl/x509ca'],
} as const;

let openwrt: TestOpenwrt;
let agent: TestPass;

const start = async (options: OpenwrtOptions): Promise<void> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt, { secrets });
};
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const onDevice = (path: string): string => join(openwrt.simulator.rootDirectory, path);
/** Per folder the contents of our files in it. */
const contents = (folders: readonly string[]): string[][] =>
  folders.map((folder) =>
    readdirSync(onDevice(folder))
      .filter((name) => name.startsWith('sdewan-'))
      .sort()
      .map((name) => readFileSync(onDevice(join(folder, name)), 'utf8')),
  );
const ownFileIn = (folder: string): string =>
  readdirSync(onDevice(folder)).find((name) => name.startsWith('sdewan-')) ?? '';
const optionsOf = (name: string) =>
  openwrt.sections('ipsec').find((section) => section.name === name)?.options;
const refusals = () =>
  openwrt.simulator.journal().filter((entry) => entry.event === 'reload' && !entry.ok);
const reloads = (): number =>
  openwrt.simulator.journal().filter((entry) => entry.event === 'reload').length;

describe.each(['icn', 'swanctl'] as const)('with the script of %s', (ipsecScript) => {
  const folders = FOLDERS[ipsecScript];
  const [certificates, keys] = folders;
  const named = (value: unknown): string =>
    String(value)
      .split(', ')
      .map((path) =>
        readFileSync(onDevice(ipsecScript === 'icn' ? path : join(folderOf(path), path)), 'utf8'),
      )
      .join('');
  const folderOf = (name: string): string =>
    folders.find((folder) => existsSync(onDevice(join(folder, name)))) ?? 'nowhere';
  const [own, key, ca] =
    ipsecScript === 'icn'
      ? ['local_public_cert', 'local_private_cert', 'shared_ca']
      : ['local_cert', 'local_key', 'ca_cert'];

  beforeEach(() => start({ ipsecScript }));

  it('are there with the remote, for its owner alone, and go with it', async () => {
    const foreign = onDevice(join(keys, 'admin.pem'));
    writeFileSync(foreign, 'of an administrator');
    await agent.run([proposal, remote('hub')]);
    expect(agent.states()).toEqual({ p1: 'Applied', hub: 'Applied' });
    expect(contents(folders)).toEqual([[certificate('us')], [KEY], [certificate('the CA')]]);
    const options = optionsOf('hub') ?? {};
    expect(named(options[own])).toBe(certificate('us'));
    expect(named(options[key])).toBe(KEY);
    expect(named(options[ca])).toBe(certificate('the CA'));
    const file = ownFileIn(keys);
    expect(statSync(onDevice(join(keys, file))).mode & 0o777).toBe(0o600);

    const before = reloads();
    const renewed = remote('hub', { local_public_cert: base64(certificate('us, renewed')) });
    await agent.run([proposal, renewed]);
    expect(contents([certificates])).toEqual([[certificate('us, renewed')]]);
    expect(named(optionsOf('hub')?.[own])).toBe(certificate('us, renewed'));
    // The second makes the service forget what is gone.
    expect(reloads() - before).toBe(2);

    await agent.run([proposal]);
    expect(contents(folders)).toEqual([[], [], []]);
    expect(optionsOf('hub')).toBeUndefined();
    expect(readFileSync(foreign, 'utf8')).toBe('of an administrator');
    expect(refusals()).toEqual([]);
    expect(agent.states()).toEqual({ p1: 'Applied' });
  });

  it('leave the rules of other packages in force when a folder cannot be listed, and say so on those with files', async () => {
    await agent.run([proposal, remote('hub')]);
    const rule = (port: string) =>
      cr('FirewallRule', 'web', { src: 'lan', proto: 'tcp', dest_port: port, target: 'REJECT' });
    const { faults } = openwrt.simulator;
    faults.add({
      object: 'file',
      method: 'list',
      contains: keys,
      action: { kind: 'status', status: 4 },
    });
    await agent.run([proposal, remote('hub'), rule('80')]);
    const waits = 'Pending: WaitingForPackage';
    expect(agent.states()).toEqual({ p1: waits, hub: waits, web: 'Applied' });
    expect(optionsOf('hub')).toBeDefined();

    faults.clear();
    await agent.run([proposal, remote('hub'), rule('80')]);
    expect(agent.states()).toEqual({ p1: 'Applied', hub: 'Applied', web: 'Applied' });
  });

  it('several in one field are all there, and one that two remotes use stays for the other', async () => {
    const chain = [certificate('us'), certificate('an intermediate CA')];
    const one = remote('one', { local_public_cert: chain.map(base64).join('___') });
    await agent.run([proposal, one, remote('two')]);
    expect(contents([certificates])[0]?.sort()).toEqual(chain.toSorted());
    await agent.run([proposal, remote('two')]);
    expect(contents(folders)).toEqual([[certificate('us')], [KEY], [certificate('the CA')]]);
    expect(agent.states()).toEqual({ p1: 'Applied', two: 'Applied' });
  });

  it.each<[string, (path: string) => void]>([
    ['is gone', (path) => rmSync(path)],
    ['was changed', (path) => writeFileSync(path, 'of somebody', { mode: 0o644 })],
    ['is empty', (path) => writeFileSync(path, '')],
  ])('are repaired when a file %s, and the service is told', async (_what, damage) => {
    const left = await agent.run([proposal, remote('hub')]);
    expect(await agent.driver.fingerprint(new AbortController().signal)).toBe(left);
    const file = ownFileIn(keys);
    damage(onDevice(join(keys, file)));
    expect(await agent.driver.fingerprint(new AbortController().signal)).not.toBe(left);
    const before = reloads();
    await agent.run([proposal, remote('hub')]);
    expect(contents([keys])).toEqual([[KEY]]);
    expect(agent.driftRepairs()).toBe(1);
    expect(reloads() - before).toBe(1);
    expect(refusals()).toEqual([]);
  });

  it('affect one rule only when its file cannot be written', async () => {
    const blocked = certificate('blocked');
    openwrt.simulator.faults.add({
      object: 'file',
      method: 'write',
      contains: blocked.split('\n')[1] ?? '',
      action: { kind: 'status', status: 9 },
    });
    const rules = [proposal, remote('blocked', { shared_ca: base64(blocked) }), remote('hub')];
    await agent.converge(rules);
    expect(agent.states()).toEqual({
      p1: 'Applied',
      blocked: 'Failed: RefusedByOpenwrt',
      hub: 'Applied',
    });
    expect(contents(folders)).toEqual([[certificate('us')], [KEY], [certificate('the CA')]]);
    expect(refusals()).toEqual([]);
  });
});

describe('an agent that is killed', () => {
  it('leaves nothing between any two calls that the next does not repair', async () => {
    await start({ ipsecScript: 'swanctl' });
    const folders = FOLDERS.swanctl;
    const states = ['us', 'us, renewed'].map((of) => ({
      own: certificate(of),
      rules: [proposal, remote('hub', { local_public_cert: base64(certificate(of)) })],
    }));
    let calls = 0;
    for (let skip = 0; ; skip += STRIDE) {
      const { own, rules } = states[skip % 2] ?? { own: '', rules: [] };
      const killed = await openPass(openwrt, { secrets });
      const death = new AbortController();
      openwrt.simulator.faults.add({ skip, times: 1, action: { kind: 'hang' } }, () =>
        death.abort(new Error('killed')),
      );
      const survived = await killed.run(rules, death.signal).then(
        () => true,
        () => false,
      );
      openwrt.simulator.faults.clear();
      const next = await openPass(openwrt, { secrets });
      await next.converge(rules);
      expect(next.states()).toEqual({ p1: 'Applied', hub: 'Applied' });
      expect(contents(folders)).toEqual([[own], [KEY], [certificate('the CA')]]);
      await next.driver.close();
      calls = skip;
      if (survived) break;
    }
    expect(calls).toBeGreaterThan(10);
    expect(refusals()).toEqual([]);
  });
});

describe('where OpenWRT cannot have them', () => {
  it.each<[string, OpenwrtOptions, RegExp]>([
    ["with OpenWRT's own classic script", { ipsecScript: 'stock' }, /supports psk only/],
    ['with the login of a stock image', { login: 'stock' }, /login may not read .*ipsec/],
    [
      'with that login and swanctl',
      { login: 'stock', ipsecScript: 'swanctl' },
      /login lacks the right: /,
    ],
  ])('%s, the rule says so, and the rest is done', async (_what, options, reason) => {
    await start(options);
    await agent.converge([proposal, remote('hub')]);
    expect(agent.states()).toEqual({ p1: 'Applied', hub: 'Failed: UnsupportedByDriver' });
    const message = agent.reports().find(({ name }) => name === 'hub')?.message;
    expect(message).toMatch(/^spec\.authentication_method: pubkey needs certificate files/);
    expect(message).toMatch(reason);
    expect(JSON.stringify(openwrt.simulator.journal())).not.toContain(KEY.split('\n')[1]);
  });
});

it('need no more than their own rights, also on the staged path', async () => {
  const stock = join(SIMULATOR, 'factory/acl');
  const text = (path: string): string => readFileSync(path, 'utf8');
  const own = JSON.parse(text(join(SIMULATOR, 'acl/sdewan-agent.json')))['sdewan-agent'];
  const only = (rights: object, kept: RegExp) =>
    Object.fromEntries(Object.entries(rights).filter(([path]) => kept.test(path)));
  const staged = {
    description: 'the staged path, and certificates',
    read: {
      ubus: { ...own.read.ubus, uci: ['get'] },
      uci: own.write.uci,
      file: { ...only(own.read.file, /ipsec|swanctl|init\.d/), '/etc/config': ['list'] },
    },
    write: {
      ubus: { uci: ['add', 'set', 'delete', 'apply'], file: ['write', 'remove', 'exec'] },
      uci: own.write.uci,
      file: only(own.write.file, /\.pem$|reload$/),
    },
  };
  await start({
    factory: {
      aclFiles: {
        ...Object.fromEntries(readdirSync(stock).map((name) => [name, text(join(stock, name))])),
        'sdewan-agent.json': JSON.stringify({ 'sdewan-agent': staged }),
      },
    },
  });
  await agent.run([proposal, remote('hub')]);
  expect(agent.states()).toEqual({ p1: 'Applied', hub: 'Applied' });
  expect(openwrt.writes('uci apply')).toBeGreaterThan(0);
  expect(contents(FOLDERS.icn)).toEqual([[certificate('us')], [KEY], [certificate('the CA')]]);
  await agent.run([proposal]);
  expect(contents(FOLDERS.icn)).toEqual([[], [], []]);
});
