/**
 * What charon does not load, though UCI has it. In which words a service gets its rules:
 * test/golden, and ipsec-certificates.test.ts.
 */
import { afterEach, expect, it } from 'vitest';
import { secretKey } from '#shared/compile/types.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { cr, openPass } from './agent/support/pass.ts';

let openwrt: TestOpenwrt;
afterEach(() => openwrt.stop());

const connection = (name: string, options: object = {}) => ({
  name,
  conn_type: 'tunnel',
  mode: 'start',
  local_subnet: '10.1.0.0/16',
  remote_subnet: '10.2.0.0/16, 10.3.0.0/16',
  if_id: 7,
  ...options,
});
const ALGORITHMS = {
  encryption_algorithm: 'aes256',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
};
const rules = [
  cr('IpsecProposal', 'p1', ALGORITHMS),
  cr('IpsecSite', 'hub', {
    remote: '203.0.113.9',
    authentication_method: 'psk',
    crypto_proposal: ['p1'],
    pre_shared_key_from: { name: 'vpn', key: 'psk' },
    connections: [connection('one'), connection('two', { if_id: 8 })],
  }),
];
const secrets = new Map([[secretKey('vpn', 'psk'), 'K3y']]);

it('does not apply a remote that charon does not load, in its words, until its proposal has a group', async () => {
  openwrt = await startOpenwrt({ login: 'own', ipsecScript: 'swanctl' });
  const pass = await openPass(openwrt, { secrets });
  const { dh_group: _group, ...groupless } = ALGORITHMS;
  const other = cr('IpsecProposal', 'p2', groupless);
  const site = cr('IpsecSite', 'spoke', {
    remote: '203.0.113.10',
    authentication_method: 'psk',
    crypto_proposal: ['p2'],
    pre_shared_key_from: { name: 'vpn', key: 'psk' },
    connections: [connection('three', { crypto_proposal: ['p2'] })],
  });
  await pass.run([...rules, other, site]);
  expect(pass.states()).toEqual({
    p1: 'Applied',
    hub: 'Applied',
    p2: 'Applied',
    spoke: 'Failed: RefusedByOpenwrt',
  });
  const said = pass.reports().find(({ name }) => name === 'spoke');
  expect(said?.message).toContain(
    "loading connection 'spoke' failed: invalid value for: proposals",
  );
  await pass.run([...rules, cr('IpsecProposal', 'p2', ALGORITHMS, { generation: 2 }), site]);
  expect(pass.states()).toMatchObject({ hub: 'Applied', spoke: 'Applied' });
  await pass.driver.close();
});
