/**
 * The agent's own login against the simulator, which enforces rights as rpcd does: everything that the ubus driver does works with
 * the files as the kubelet mounts them. Whether a right in them can be missed: acl.test.ts.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { CNF_FILES, OWN_LOGIN_FILES } from '#shared/inject/own-login-files.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { ensureOwnLogin } from '../../agent/device/ubus/login/own-login.ts';
import { createUbusDriver } from '../../agent/device/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/device/ubus/write/testing.ts';
import { startSimulator, type Simulator } from '../openwrt-simulator/simulator.ts';

const PACKAGES = ['firewall', 'mwan3', 'network'];
/** Over 256 KiB, so that it has to be read in blocks, and over 3,000 sections, so that it is imported. */
const MANY = 3_100;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-login-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A pod of its own: the agent's volume, and a CNF that has the files mounted. */
const startPod = async (
  name: string,
  change: (acl: string) => string = (acl) => acl,
): Promise<{ volume: string; simulator: Simulator }> => {
  const volume = join(folder, name, 'volume');
  const rootDirectory = join(folder, name, 'root');
  await ensureOwnLogin({ directory: volume, packages: PACKAGES });
  const aclFile = join(volume, OWN_LOGIN_FILES.acl);
  writeFileSync(aclFile, change(readFileSync(aclFile, 'utf8')));
  for (const [path, file] of Object.entries(CNF_FILES)) {
    mkdirSync(dirname(join(rootDirectory, path)), { recursive: true });
    cpSync(join(volume, file), join(rootDirectory, path));
  }
  return { volume, simulator: await startSimulator({ rootDirectory }) };
};

const sections = (count: number): UciSection[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `sdewan_rule_${index}`,
    anonymous: false,
    type: 'rule',
    options: { name: `rule-${index}`, src: 'lan', proto: 'tcp', dest_port: '80', target: 'REJECT' },
  }));

/** All that the driver does: a small change, one of each package, a large one, its reading, and an undone one. */
const exercise = async (pod: Awaited<ReturnType<typeof startPod>>): Promise<void> => {
  const driver = createUbusDriver({
    packages: PACKAGES,
    unconfirmed: unconfirmedInMemory(),
    clock: systemClock,
    log: silentLogger,
    target: {
      url: pod.simulator.url,
      usernameFile: join(pod.volume, OWN_LOGIN_FILES.username),
      passwordFile: join(pod.volume, OWN_LOGIN_FILES.password),
    },
  });
  const signal = AbortSignal.timeout(30_000);
  const append = async (config: string, added: UciSection[]): Promise<void> => {
    const { unusable } = await driver.read(signal);
    expect([...unusable]).toEqual([]);
    const delta = { package: config, remove: [], set: [], append: added };
    const result = await driver.apply([delta], signal);
    expect(result).toMatchObject({ outcome: 'done' });
  };
  try {
    await append('firewall', sections(1));
    await append('mwan3', [
      { name: 'p', anonymous: false, type: 'policy', options: { last_resort: 'default' } },
    ]);
    await append('network', [
      {
        name: 'r',
        anonymous: false,
        type: 'route',
        options: { interface: 'net1', target: '10.0.0.0/8' },
      },
    ]);
    await append('firewall', sections(MANY).slice(1));
    await driver.fingerprint(signal);
    await driver.read(signal);
    const imported = pod.simulator
      .journal()
      .some((entry) => entry.event === 'write' && entry.by.call === 'uci import');
    if (!imported) throw new Error('the large change was not imported');
  } finally {
    await driver.close();
  }
};

describe('the own login', () => {
  it('is enough for everything that the driver does', async () => {
    const pod = await startPod('all');
    await expect(exercise(pod)).resolves.toBeUndefined();
    await pod.simulator.stop();
  });

  it('opens nothing else', async () => {
    const pod = await startPod('nothing-else');
    const password = readFileSync(join(pod.volume, OWN_LOGIN_FILES.password), 'utf8');
    const call = async (session: string, object: string, method: string, args: object) => {
      const response = await fetch(`${pod.simulator.url}/ubus`, {
        method: 'POST',
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'call',
          params: [session, object, method, args],
        }),
      });
      return z
        .object({ result: z.array(z.unknown()).optional(), error: z.unknown().optional() })
        .parse(await response.json());
    };
    const { result } = await call('0'.repeat(32), 'session', 'login', {
      username: 'sdewan',
      password,
    });
    const { ubus_rpc_session: session } = z
      .object({ ubus_rpc_session: z.string() })
      .parse(result?.[1]);
    const attempts: [string, string, object][] = [
      ['uci', 'commit', { config: 'firewall' }],
      ['uci', 'add', { config: 'rpcd', type: 'login' }],
      ['uci', 'add', { config: 'system', type: 'system' }],
      ['uci', 'get', { config: 'rpcd' }],
      ['file', 'read', { path: '/etc/shadow' }],
      ['file', 'read', { path: '/etc/config/rpcd' }],
      ['file', 'read', { path: '/etc/config/../shadow' }],
      ['file', 'write', { path: '/etc/config/firewall', data: '' }],
      ['file', 'write', { path: '/usr/share/rpcd/acl.d/sdewan-agent.json', data: '{}' }],
      ['file', 'exec', { command: '/bin/sh', params: ['-c', 'id'] }],
      ['file', 'exec', { command: '/sbin/fw4', params: ['stop'] }],
      [
        'file',
        'exec',
        { command: '/bin/dd', params: ['if=/etc/shadow', 'bs=131072', 'count=1', 'skip=0'] },
      ],
      [
        'file',
        'exec',
        {
          command: '/bin/dd',
          params: ['if=/etc/config/firewall', 'bs=131072', 'count=1', 'skip=0', 'of=/etc/shadow'],
        },
      ],
      ['session', 'grant', { scope: 'uci', objects: [['*', '*']] }],
      ['session', 'list', {}],
    ];
    const passed: unknown[] = [];
    for (const [object, method, args] of attempts) {
      const answer = await call(session, object, method, args);
      const refused = answer.error !== undefined || answer.result?.[0] !== 0;
      if (!refused) passed.push([object, method, args, answer]);
    }
    expect(passed).toEqual([]);
    await pod.simulator.stop();
  });
});
