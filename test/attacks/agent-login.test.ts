/**
 * What the thief of the agent's own login on OpenWRT can do, and what not: on the simulator, which
 * keeps to the rights as rpcd does, and on a real OpenWRT where a run names one (`npm run suite
 * device`). It owns the packet filter, and there a section `include` runs a script of its own as
 * root.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { startOpenwrt } from '../contract/agent/support/openwrt.ts';
import { namedDevice, type NamedDevice } from '../contract/conformance/named-device.ts';
import { onDevice, recordedPath } from '../contract/conformance/stage.ts';
import { POSSIBLE, REFUSED, SCRIPT, SESSION, type Way } from './agent-login.ways.ts';

type Place = {
  url: string;
  username: string;
  password: string;
  /** Present on a real one. */
  inside?: (script: string) => string;
  leave: () => Promise<void>;
};

/** All that must be as before: rights, logins, scripts, and what is not the agent's. */
const DIGESTS = `
find /etc /usr/share/rpcd /usr/share/nftables.d /usr/libexec/rpcd -xdev -type f ! -path '/etc/config/firewall' ! -path '/etc/config/network' \\
  ! -path '/etc/config/ipsec' ! -path '/etc/swanctl/private/sdewan-*' -exec md5sum {} + 2>/dev/null | sort -k 2
true
`;
const RAN = '/tmp/thief-ran';
/** Given to the users of test/openwrt/device for its tests alone. */
const VIEW = 'device-view';

const simulated = async (): Promise<Place> => {
  const { simulator, usernameFile, passwordFile, stop } = await startOpenwrt({
    login: 'mounted',
    time: 'real',
  });
  return {
    url: simulator.url,
    username: readFileSync(usernameFile, 'utf8').trim(),
    password: readFileSync(passwordFile, 'utf8').trim(),
    leave: stop,
  };
};

const real = async (device: NamedDevice): Promise<Place> => {
  const stage = await onDevice(device);
  const { url, user, passwordFile, inside } = device;
  inside?.(`cp /etc/config/rpcd /tmp/rpcd.before; sed -i '/${VIEW}/d' /etc/config/rpcd`);
  return {
    url,
    username: user,
    password: readFileSync(passwordFile, 'utf8').trim(),
    ...(inside && { inside }),
    leave: async () => {
      inside?.('cat /tmp/rpcd.before >/etc/config/rpcd; rm /tmp/rpcd.before');
      await stage.leave();
    },
  };
};

const device = namedDevice();
const isOwnLogin = device?.inside !== undefined && recordedPath(device) === 'ubus-fast';
const places: [string, () => Promise<Place>][] = [
  ['the simulator', simulated],
  ...(device && isOwnLogin
    ? [[device.url, () => real(device)] satisfies [string, () => Promise<Place>]]
    : []),
];

const answerSchema = z.object({
  result: z.array(z.unknown()).optional(),
  error: z.object({ code: z.int() }).optional(),
});
const sessionSchema = z.object({ ubus_rpc_session: z.string() });
const DENIED = { status: 6, code: -32_002 };
/** Programs are looked for before rights are. */
const NOT_FOUND = 4;
const SCRIPT_MODE = 0o755;

describe.each(places)('the agent’s login on %s', (_where, open) => {
  let place: Place;
  let session: string;
  let before: string;

  const call = async (id: string, params: Way): Promise<z.infer<typeof answerSchema>> => {
    const sent = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'call', params: [id, ...params] });
    const response = await fetch(`${place.url}/ubus`, {
      method: 'POST',
      body: sent.replaceAll(SESSION, id),
      signal: AbortSignal.timeout(30_000),
    });
    return answerSchema.parse(await response.json());
  };
  const attempt = async (way: Way): Promise<string> => {
    const { result, error } = await call(session, way);
    if (error?.code === DENIED.code || result?.[0] === DENIED.status) return 'refused';
    if (way[1] === 'exec' && result?.[0] === NOT_FOUND) return 'not there';
    return result?.[0] === 0 ? 'done' : JSON.stringify(error ?? result);
  };
  const digests = (): string => place.inside?.(DIGESTS) ?? '';

  beforeAll(async () => {
    place = await open();
    const { username, password } = place;
    const { result } = await call('0'.repeat(32), ['session', 'login', { username, password }]);
    session = sessionSchema.parse(result?.[1]).ubus_rpc_session;
    before = digests();
    const data = '#!/bin/sh\nid\n';
    await attempt(['file', 'write', { path: SCRIPT, data, mode: SCRIPT_MODE }]);
  });
  afterAll(() => place.leave());

  it.each(Object.entries(REFUSED))('may not %s', async (_what, way) => {
    expect(await attempt(way)).toMatch(/^(refused|not there)$/);
  });

  it('leaves all of it as it was', () => {
    expect(digests()).toBe(before);
  });

  it.each(Object.entries(POSSIBLE))('may %s', async (_what, way) => {
    expect(await attempt(way)).toBe('done');
    for (const config of ['firewall', 'network', 'ipsec'])
      await call(session, ['uci', 'revert', { config }]);
    await call(session, ['file', 'remove', { path: '/etc/swanctl/private/sdewan-0.pem' }]);
  });

  it('may run a program as root, by a section include of firewall', async () => {
    const data = `id -u >${RAN}\n`;
    const values = { type: 'script', path: SCRIPT, fw4_compatible: '1' };
    expect(await attempt(['file', 'write', { path: SCRIPT, data }])).toBe('done');
    const added = await call(session, [
      'uci',
      'add',
      { config: 'firewall', type: 'include', name: 'thief', values },
    ]);
    expect(added.result?.[0]).toBe(0);
    expect(await attempt(['uci', 'apply', { rollback: true, timeout: 10 }])).toBe('done');
    expect(await attempt(['file', 'exec', { command: '/sbin/fw4', params: ['reload'] }])).toBe(
      'done',
    );
    // The simulator runs no scripts.
    const ran = place.inside?.(`cat ${RAN}; rm -f ${RAN}`).trim() ?? '0';
    expect(ran).toBe('0');
    expect(await attempt(['uci', 'rollback', {}])).toBe('done');
    expect(await attempt(['file', 'remove', { path: SCRIPT }])).toBe('done');
  });
});
