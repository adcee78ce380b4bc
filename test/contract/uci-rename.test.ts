/**
 * What OpenWRT does with `uci rename`, which is how the agent names what ICN's controller made. These answers were measured on a real
 * OpenWRT (rpcd and uci of 2026); the simulator has to give the same. With OPENWRT_URL and OPENWRT_PASSWORD_FILE, of a root of a stock LuCI,
 * they are asked of that OpenWRT, too; nothing is left there.
 */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../openwrt-simulator/simulator.ts';
import { logIn, type TestClient } from '../openwrt-simulator/test-client.ts';

const PASSWORD = 'root-pw';
const TIMEOUT_SECONDS = 1;
const packageSchema = z.tuple([
  z.literal(0),
  z.object({
    values: z.record(
      z.string(),
      z.looseObject({ '.name': z.string(), '.anonymous': z.boolean(), '.index': z.int() }),
    ),
  }),
]);

type Place = { open: () => Promise<TestClient>; close: () => Promise<void> };

const simulated = (): Place => {
  let simulator: Simulator | undefined;
  return {
    open: async () => {
      simulator ??= await startSimulator({ factory: { rootPassword: PASSWORD } });
      return logIn(simulator.url, 'root', PASSWORD);
    },
    close: async () => simulator?.stop(),
  };
};

const { OPENWRT_URL: url, OPENWRT_PASSWORD_FILE: file = '' } = process.env;
const places: [string, () => Place][] = [['the simulator', simulated]];
if (url !== undefined)
  places.push([
    `the OpenWRT at ${url}`,
    () => ({
      open: () => logIn(url, 'root', readFileSync(file, 'utf8').trim()),
      close: async () => undefined,
    }),
  ]);

describe.each(places)('on %s', (_where, create) => {
  let place: Place;
  let root: TestClient;
  beforeEach(async () => {
    place = create();
    root = await place.open();
  });
  afterEach(() => place.close());

  const sections = async (client: TestClient) => {
    const [, { values }] = packageSchema.parse(
      await client.call('uci', 'get', { config: 'firewall' }),
    );
    return Object.values(values).sort((a, b) => a['.index'] - b['.index']);
  };
  const firstAnonymous = async (): Promise<string> =>
    (await sections(root)).find((section) => section['.anonymous'])?.['.name'] ?? '';
  const rename = (section: string, name: string) =>
    root.call('uci', 'rename', { config: 'firewall', section, name });
  const staged = () => root.call('uci', 'changes', { config: 'firewall' });

  it('the section is named where it is, and its options stay in their order', async () => {
    const before = await sections(root);
    const id = await firstAnonymous();
    expect(await rename(id, 'sdewan_named')).toEqual([0]);
    expect(await staged()).toEqual([0, { changes: [['rename', id, 'sdewan_named']] }]);
    const wanted = before.map((section) =>
      section['.name'] === id
        ? { ...section, '.name': 'sdewan_named', '.anonymous': false }
        : section,
    );
    const inOrder = (all: readonly object[]) => all.map((section) => Object.entries(section));
    expect(inOrder(await sections(root))).toEqual(inOrder(wanted));
  });

  it.each<[string, { from?: string; to: string; code: number }]>([
    ['a section that is not there is named with success', { from: 'cfgffffff', to: 'x', code: 0 }],
    ['a name that UCI cannot hold is refused', { to: 'a-b', code: 2 }],
  ])('%s, and nothing is staged', async (_what, { from, to, code }) => {
    expect(await rename(from ?? (await firstAnonymous()), to)).toEqual([code]);
    expect(await staged()).toEqual([0, { changes: [] }]);
  });

  it('a name that is taken is given a second time, with success', async () => {
    const [first, second] = (await sections(root)).filter((section) => section['.anonymous']);
    for (const section of [first, second])
      expect(await rename(section?.['.name'] ?? '', 'sdewan_twice')).toEqual([0]);
  });

  it('what is not confirmed is undone by the timer, and staged again in the session that did it', async () => {
    // A login while an apply waits would get the session of that apply.
    const other = await place.open();
    const before = await sections(root);
    const id = await firstAnonymous();
    await rename(id, 'sdewan_named');
    const apply = { rollback: true, timeout: TIMEOUT_SECONDS };
    expect(await root.call('uci', 'apply', apply)).toEqual([0]);
    expect(await sections(other)).not.toEqual(before);
    await expect.poll(() => sections(other), { timeout: 10_000 }).toEqual(before);
    expect(await staged()).toEqual([0, { changes: [['rename', id, 'sdewan_named']] }]);
  });
});
