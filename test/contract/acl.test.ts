/**
 * The rights that operators give to the agent's login
 * (`test/openwrt/simulator/acl/sdewan-agent.json`, printed in docs/drivers.md): without any one of
 * them, something that the ubus driver promises does not work. The simulator enforces rights as
 * rpcd does.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createLogger } from '#shared/runtime/log.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { aclFor } from '../../agent/openwrt/ubus/login/acl.ts';
import type { Driver } from '../../agent/openwrt/driver.ts';
import { deviceFiles, fileSection } from '#shared/resources/device-files.ts';
import { CERTIFICATE_FOLDERS as FOLDERS } from '#shared/resources/rules/ipsec-certificates.ts';
import type { IpsecDialect } from '#shared/resources/capabilities.ts';
import { createUbusDriver } from '../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/openwrt/ubus/write/testing.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { timed } from './agent/support/time.ts';

const SIMULATOR = join(import.meta.dirname, '../openwrt/simulator');
const NEVER = new AbortController().signal;
/** Over 3,000 sections are imported. */
const MANY = 3_001;

const objects = z.record(z.string(), z.array(z.string()));
const permission = z.object({
  ubus: objects,
  uci: z.array(z.string()).default([]),
  file: objects,
});
const aclSchema = z.object({
  'sdewan-agent': z.object({ description: z.string(), read: permission, write: permission }),
});
type Acl = z.infer<typeof aclSchema>;
const acl = aclSchema.parse(
  JSON.parse(readFileSync(join(SIMULATOR, 'acl/sdewan-agent.json'), 'utf8')),
);

type Right = { in: 'read' | 'write'; scope: 'ubus' | 'uci' | 'file'; object: string; name: string };
const textOf = ({ in: side, scope, object, name }: Right): string =>
  [side, scope, object, name].join(' ').trim();

const rightsOf = (from: Acl): Right[] =>
  (['read', 'write'] as const).flatMap((side) => [
    ...(['ubus', 'file'] as const).flatMap((scope) =>
      Object.entries(from['sdewan-agent'][side][scope]).flatMap(([object, names]) =>
        names.map((name) => ({ in: side, scope, object, name })),
      ),
    ),
    ...from['sdewan-agent'][side].uci.map((object): Right => ({
      in: side,
      scope: 'uci',
      object,
      name: '',
    })),
  ]);

const without = (missing: Right): Acl => {
  const less = structuredClone(acl);
  const side = less['sdewan-agent'][missing.in];
  if (missing.scope === 'uci') side.uci = side.uci.filter((name) => name !== missing.object);
  else {
    const names = side[missing.scope][missing.object] ?? [];
    side[missing.scope][missing.object] = names.filter((name) => name !== missing.name);
  }
  return less;
};

let openwrt: TestOpenwrt;
let driver: Driver;
let logged: string;
afterEach(async () => {
  await driver.close();
  await openwrt.stop();
});

const ALL_PACKAGES = ['firewall', 'mwan3', 'ipsec', 'network', 'keepalived'];

const start = async (rights: unknown, ipsecScript: 'icn' | 'swanctl' = 'icn'): Promise<void> => {
  const stock = join(SIMULATOR, 'factory/acl');
  openwrt = await startOpenwrt({
    ipsecScript,
    factory: {
      aclFiles: {
        ...Object.fromEntries(
          readdirSync(stock).map((name) => [name, readFileSync(join(stock, name), 'utf8')]),
        ),
        'sdewan-agent.json': JSON.stringify(rights),
      },
    },
  });
  logged = '';
  const { usernameFile, passwordFile } = openwrt;
  const untimed = createUbusDriver({
    packages: ALL_PACKAGES,
    unconfirmed: unconfirmedInMemory(),
    target: { url: openwrt.simulator.url, usernameFile, passwordFile },
    clock: openwrt.clock.agent,
    log: createLogger({
      name: 'acl',
      level: 'info',
      destination: { write: (line: string) => (logged += line) },
    }),
  });
  driver = timed(untimed, openwrt.clock);
};

const append = async (config: string, count: number): Promise<void> => {
  await driver.read(NEVER);
  const sections = Array.from({ length: count }, (_, index): UciSection => ({
    name: `s${index}`,
    anonymous: false,
    type: 'sdewan',
    options: { name: String(index) },
  }));
  const delta = { package: config, remove: [], set: [], append: sections };
  expect(await driver.apply([delta], NEVER)).toMatchObject({ outcome: 'done' });
};

/** Comments, so that there is more to read than to understand. */
const readLarge = async (kilobytes: number): Promise<void> => {
  const comment = `# ${'x'.repeat(1_021)}\n`;
  openwrt.write('firewall', `${comment.repeat(kilobytes)}${openwrt.text('firewall')}`);
  const { packages } = await driver.read(NEVER);
  expect(packages.has('firewall')).toBe(true);
};

const TUNNEL =
  "config remote 'hub'\n\toption enabled '1'\n\tlist tunnel 'one'\n\tlist child 'one'\n";

const inform = async () => {
  await driver.read(NEVER);
  return driver.information(NEVER);
};

/** Writes a file of each sort, changes the set, and takes all away again. */
const holdCertificates = async (dialect: IpsecDialect): Promise<void> => {
  const folders = Object.values(FOLDERS[dialect]);
  const filesOf = (content: string): UciSection[] =>
    folders.map((folder) => fileSection(`${folder}/sdewan-${content}.pem`, content));
  for (const desired of [filesOf('one'), filesOf('two'), []]) {
    const { packages, capabilities } = await driver.read(NEVER);
    assert.equal(capabilities.ipsec.noCertificates, undefined);
    const observed = packages.get(deviceFiles.name);
    assert.ok(observed);
    const remove = observed.sections.map(({ name }) => name);
    const delta = { package: deviceFiles.name, remove, set: [], append: desired };
    assert.equal((await driver.apply([delta], NEVER)).outcome, 'done');
    const found = folders.flatMap((folder) =>
      readdirSync(join(openwrt.simulator.rootDirectory, folder)).map((name) => `${folder}/${name}`),
    );
    assert.deepEqual(
      found,
      desired.map(({ name }) => name),
    );
  }
};

/** What the driver promises, and could not do without the right. */
const promises = {
  'takes the fast path': async (rights) => {
    await start(rights);
    const { unusable } = await driver.read(NEVER);
    assert.deepEqual([...unusable], []);
    assert.match(logged, /"path":"fast"/);
  },
  'knows what it may not write': async (rights) => {
    const less = structuredClone(rights);
    less['sdewan-agent'].write.uci = ALL_PACKAGES.filter((name) => name !== 'network');
    await start(less);
    assert.deepEqual([...(await driver.read(NEVER)).unusable.keys()], ['network']);
  },
  'ends its session': async (rights) => {
    await start(rights);
    await append('firewall', 1);
    const written = openwrt.simulator
      .journal()
      .flatMap((entry) => (entry.event === 'write' ? [entry.by.session ?? ''] : []));
    await driver.close();
    const session = written.at(-1) ?? '';
    assert.match(session, /^\w{32}$/);
    // Only that session itself may ask.
    const answer = await fetch(`${openwrt.simulator.url}/ubus`, {
      method: 'POST',
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'call',
        params: [session, 'session', 'access', {}],
      }),
    });
    assert.match(await answer.text(), /-32002/);
  },
  'sees which IPsec service there is': async (rights) => {
    await start(rights, 'swanctl');
    assert.equal((await driver.read(NEVER)).capabilities.ipsec.dialect, 'swanctl');
  },
  'sees which firewall there is': async (rights) => {
    await start(rights);
    const script = join(openwrt.simulator.rootDirectory, '/etc/init.d/firewall');
    writeFileSync(script, 'reload() { fw3 reload; }\n');
    assert.equal((await driver.read(NEVER)).capabilities.firewall, 'fw3');
  },
  'changes package firewall': async (rights) => {
    await start(rights);
    await append('firewall', 1);
  },
  'starts a firewall that was stopped': async (rights) => {
    await start(rights);
    await openwrt.simulator.shell('/sbin/fw4', 'stop');
    await append('firewall', 1);
  },
  'changes package mwan3': async (rights) => {
    await start(rights);
    await append('mwan3', 1);
  },
  'changes package network': async (rights) => {
    await start(rights);
    await append('network', 1);
  },
  'changes package keepalived': async (rights) => {
    await start(rights);
    await append('keepalived', 1);
  },
  'changes package ipsec': async (rights) => {
    await start(rights);
    await append('ipsec', 1);
  },
  'changes package ipsec for swanctl': async (rights) => {
    await start(rights, 'swanctl');
    await append('ipsec', 1);
  },
  'holds certificates': async (rights) => {
    await start(rights);
    await holdCertificates('classic');
  },
  'writes certificates for swanctl': async (rights) => {
    await start(rights, 'swanctl');
    await holdCertificates('swanctl');
  },
  'sees where swanctl has its settings': async (rights) => {
    await start(rights, 'swanctl');
    assert.equal((await driver.read(NEVER)).capabilities.ipsec.settings, 'last');
  },
  'reports interfaces': async (rights) => {
    await start(rights);
    assert.notDeepEqual((await inform())?.interfaces, []);
  },
  'reports WANs': async (rights) => {
    await start(rights);
    openwrt.write('mwan3', "config interface 'wan'\n\toption enabled '1'\n");
    assert.notDeepEqual((await inform())?.wans, []);
  },
  'reports tunnels': async (rights) => {
    await start(rights);
    openwrt.write('ipsec', TUNNEL);
    assert.deepEqual((await inform())?.tunnels, [
      { name: 'hub-one', up: true, state: 'ESTABLISHED' },
    ]);
  },
  'reports tunnels of swanctl': async (rights) => {
    await start(rights, 'swanctl');
    openwrt.write('ipsec', TUNNEL);
    assert.deepEqual((await inform())?.tunnels, [
      { name: 'hub-one', up: true, state: 'INSTALLED' },
    ]);
  },
  'makes a large change': async (rights) => {
    await start(rights);
    await append('firewall', MANY);
  },
  'reads a large package': async (rights) => {
    await start(rights);
    await readLarge(300);
  },
  'reads a very large package': async (rights) => {
    await start(rights);
    await readLarge(1_400);
  },
} satisfies Record<string, (rights: Acl) => Promise<void>>;

type PromiseName = keyof typeof promises;

/** The first match: which promise needs the right. */
const needs: [RegExp, PromiseName][] = [
  [/session access/, 'knows what it may not write'],
  [/session destroy/, 'ends its session'],
  [/network\.interface dump/, 'reports interfaces'],
  [/mwan3 status/, 'reports WANs'],
  [/ipsec status/, 'reports tunnels'],
  [/list-sas/, 'reports tunnels of swanctl'],
  [/file remove|ipsec\.d|init\.d\/ipsec read/, 'holds certificates'],
  [/init\.d\/firewall read/, 'sees which firewall there is'],
  [/swanctl read/, 'sees where swanctl has its settings'],
  [/etc\/swanctl\//, 'writes certificates for swanctl'],
  [/file list|init\.d list/, 'sees which IPsec service there is'],
  [/fw4 start/, 'starts a firewall that was stopped'],
  [/swanctl reload/, 'changes package ipsec for swanctl'],
  [/uci add|uci apply|fw4 reload|write uci/, 'changes package firewall'],
  [/tmp|import/, 'makes a large change'],
  [/skip=\[0-9\]\[0-9\]/, 'reads a very large package'],
  [/skip/, 'reads a large package'],
  [/./, 'takes the fast path'],
];

const promiseFor = (right: Right): PromiseName => {
  const text = textOf(right);
  const service =
    /init\.d\/(\w+) reload/.exec(text)?.[1] ?? (right.scope === 'uci' ? right.object : '');
  if (
    service === 'mwan3' ||
    service === 'network' ||
    service === 'ipsec' ||
    service === 'keepalived'
  )
    return `changes package ${service}`;
  return needs.find(([pattern]) => pattern.test(text))?.[1] ?? 'takes the fast path';
};

const isAboutOther = ({ scope, object }: Right): boolean =>
  scope === 'file' && /(config\/|uci-\*\/|sdewan-)(mwan3|ipsec|network|keepalived)\b/.test(object);

describe('with all rights the ubus driver', () => {
  it.each(Object.entries(promises))('%s', async (_name, keeps) => {
    await expect(keeps(acl)).resolves.toBeUndefined();
  });
});

describe('is needed:', () => {
  const cases = rightsOf(acl)
    .filter((right) => !isAboutOther(right))
    .map((right) => ({ right, text: textOf(right), promise: promiseFor(right) }));
  it.each(cases)('$text ($promise)', async ({ right, promise }) => {
    await expect(promises[promise](without(right))).rejects.toThrow(/./);
  });
});

/** The JSON files that docs/drivers.md prints. */
const printed = (
  readFileSync(join(import.meta.dirname, '../../docs/drivers.md'), 'utf8').match(
    /(?<=```json\n)[^`]*(?=```)/g,
  ) ?? []
).map((text): unknown => JSON.parse(text));

it('is printed in the documentation', () => {
  expect(aclSchema.parse(printed[0])).toEqual(acl);
});

it('is not needed for the staged path, with the lesser rights that are printed too', async () => {
  await start(printed[1]);
  const { unusable } = await driver.read(NEVER);
  expect([...unusable]).toEqual([]);
  for (const config of ALL_PACKAGES) await append(config, 2);
  expect(logged).toContain('"path":"staged"');
});

it('grants for each package what it grants for firewall', () => {
  const about = (name: string): string[] =>
    rightsOf(acl)
      .filter(({ object }) => new RegExp(String.raw`\b${name}\b`).test(object))
      .filter(({ scope, object }) => scope !== 'ubus' && !/init\.d| status$|ipsec\.d/.test(object))
      .map((right) => textOf(right).replaceAll(name, 'PACKAGE'))
      .sort();
  for (const name of ALL_PACKAGES.slice(1)) expect(about(name)).toEqual(about('firewall'));
});

it('is what the agent gives itself, less the other places at which images have a program, and the helper', () => {
  const own = rightsOf(aclSchema.parse(aclFor(ALL_PACKAGES)));
  const texts = new Set(own.map(textOf));
  expect(
    rightsOf(acl)
      .map(textOf)
      .filter((text) => !texts.has(text)),
  ).toEqual([]);
  const more = own.map(textOf).filter((text) => !rightsOf(acl).map(textOf).includes(text));
  expect(
    more.filter((text) => !/ \/(usr|etc\/init\.d\/firewall)|sdewan-kernel/.test(text)),
  ).toEqual([]);
});
