/**
 * The suite on a real OpenWRT: `OPENWRT_URL`, `OPENWRT_USER` (root when absent) and
 * `OPENWRT_PASSWORD_FILE` name one. It is a guest there: it makes and removes sections of its own
 * only, and in the end compares every package with what it found.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { systemClock } from '#shared/runtime/clock.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import type { OpenwrtTarget } from '../../../agent/openwrt/ubus/login/credentials.ts';
import { NEVER } from './bench.ts';
import { uciFixture } from './fixtures.ts';
import { ubusDriver } from './simulated.ts';
import type { Target, WritePath } from './target.ts';

export const realOpenwrt = (): WritePath[] => {
  const { OPENWRT_URL: url, OPENWRT_USER: user, OPENWRT_PASSWORD_FILE: passwordFile } = process.env;
  if (url === undefined || passwordFile === undefined) return [];
  return [
    {
      name: `ubus, as ${user ?? 'root'} on the OpenWRT at ${url}`,
      open: () => guestOf({ url, user: user ?? 'root', passwordFile }),
      fixture: uciFixture,
      bigDelta: 100,
      looks: 1,
      cannot: {},
    },
  ];
};

type Named = { url: string; user: string; passwordFile: string };

const PACKAGES = ['firewall', 'mwan3', 'network', 'ipsec'];

const removeOurs = async (driver: Driver): Promise<void> => {
  const { deltaOf, isOurs } = uciFixture;
  const observed = (await driver.read(NEVER)).packages.get(uciFixture.package);
  if (observed) await driver.apply([deltaOf({ observed, desired: [], isOurs })], NEVER);
};

const guestOf = async ({ url, user, passwordFile }: Named): Promise<Target> => {
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-conformance-'));
  const usernameFile = join(folder, 'username');
  const wrongPassword = join(folder, 'wrong-password');
  writeFileSync(usernameFile, user);
  writeFileSync(wrongPassword, 'not this one');
  const sections = await viewOf({ url, user, passwordFile });
  const all = () => Promise.all(PACKAGES.map((name) => sections(name)));
  const found = await all();
  const drivers: Driver[] = [];
  const open = (at: OpenwrtTarget): Driver => {
    const driver = ubusDriver(at, systemClock);
    drivers.push(driver);
    return driver;
  };
  return {
    driver: () => open({ url, usernameFile, passwordFile }),
    lost: (why) =>
      why === 'address'
        ? open({ url: 'http://127.0.0.1:1', usernameFile, passwordFile })
        : open({ url, usernameFile, passwordFile: wrongPassword }),
    sections,
    leave: async () => {
      await removeOurs(open({ url, usernameFile, passwordFile }));
      await Promise.all(drivers.map((driver) => driver.close()));
      rmSync(folder, { recursive: true });
      if (!isDeepStrictEqual(await all(), found)) {
        throw new Error(`the OpenWRT at ${url} is not as it was found`);
      }
    },
  };
};

const loginSchema = z.object({
  result: z.tuple([z.literal(0), z.object({ ubus_rpc_session: z.string() })]),
});
const option = z.union([z.string(), z.array(z.string())]);
const sectionSchema = z.looseObject({
  '.name': z.string(),
  '.type': z.string(),
  '.anonymous': z.boolean(),
  '.index': z.int(),
});
const packageSchema = z.object({
  result: z.tuple([z.int(), z.object({ values: z.record(z.string(), sectionSchema) }).optional()]),
});

/** `uci get` in a session of its own: nothing is staged there. */
const viewOf = async ({
  url,
  user,
  passwordFile,
}: Named): Promise<(name: string) => Promise<DeviceSection[]>> => {
  const call = async (session: string, ...params: unknown[]): Promise<unknown> => {
    const response = await fetch(`${url}/ubus`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'call', params: [session, ...params] }),
      signal: AbortSignal.timeout(30_000),
    });
    return response.json();
  };
  const password = readFileSync(passwordFile, 'utf8').trimEnd();
  const view = async (name: string): Promise<DeviceSection[]> => {
    const login = await call('0'.repeat(32), 'session', 'login', { username: user, password });
    const session = loginSchema.parse(login).result[1].ubus_rpc_session;
    const { result } = packageSchema.parse(await call(session, 'uci', 'get', { config: name }));
    return Object.values(result[1]?.values ?? {})
      .sort((a, b) => a['.index'] - b['.index'])
      .map((section) => ({
        name: section['.anonymous'] ? undefined : section['.name'],
        type: section['.type'],
        options: Object.fromEntries(
          Object.entries(section)
            .filter(([key]) => !key.startsWith('.'))
            .map(([key, value]) => [key, option.parse(value)]),
        ),
      }));
  };
  return view;
};
