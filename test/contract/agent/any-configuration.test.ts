/**
 * Whole configurations, the administrator's sections and rules alike, with values in every spelling that a parser of OpenWRT takes, and
 * some that none takes: no pass of the agent throws, no section of others changes, and of the rules that can be compared with the kernel
 * each is judged by the kernel.
 */
import { compile } from '#shared/compile/compile.ts';
import { inputOf, ruleOf } from '#shared/compile/testing.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { isUciValue } from '#shared/uci/names.ts';
import { anyText, uciNames } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KernelLook } from '../../../agent/device/driver.ts';
import { excerptOf } from '../../../agent/device/kernel/excerpt.ts';
import { lackingRules, nftRulesIn } from '../../../agent/device/kernel/firewall.ts';
import { lackingRouting } from '../../../agent/device/kernel/routing.ts';
import {
  createOpenwrt,
  openAgent,
  stateFolder,
  type MemoryOpenwrt,
} from '../../../agent/reconcile/testing.ts';
import { allSamples } from '../../samples/all.ts';

const CASES = caseCount(100);

/** Numbers, networks, lists, ports, words: as people, and other programs, write them. */
const SPELLINGS = [
  '203.0.113.0/255.255.255.0',
  '10.0.0.0/255.0.255.0',
  '10.1/8',
  '010.1.2.3',
  '10.0.0.0/08',
  '10.0.0.0/0x8',
  '!10.0.0.0/8',
  '10.0.0.1 10.0.0.2,10.0.0.3',
  '10.0.0.1-10.0.0.9',
  '::ffff:10.0.0.0/104',
  'fe80::1%eth0',
  '2001:DB8::/32',
  '::/0',
  'default',
  '0',
  '010',
  '0x10',
  '+7',
  '-1',
  '08',
  '4294967296',
  '99999999999999999999',
  '0x3d00/0x3f00',
  '1/',
  '/1',
  '80-',
  '80:90',
  '90-80',
  '80,443 8000-9000',
  'tcp udp',
  '!tcp',
  'all',
  '*',
  'true',
  'on',
  'enabled',
  ' 80 ',
  '80 # web',
  'a;b',
  "it's",
  '"quoted"',
  '%any',
  '0sZm9v',
  'constructor',
  '__proto__',
];
const spelling = fc.oneof(
  { arbitrary: fc.constantFrom(...SPELLINGS), weight: 3 },
  { arbitrary: anyText.filter(isUciValue), weight: 1 },
);

const specs = allSamples.flatMap(({ kind, ofIcn, rendered }) =>
  [...ofIcn, ...rendered].map(({ name, spec }) => ({ kind, name, spec })),
);
const compiled = compile(
  inputOf(specs.map(({ kind, name, spec }) => ruleOf(kind, `${kind}-${name}`.toLowerCase(), spec))),
).desired;

/** As OpenWRT's own files and our kinds have them, of each package. */
const usual = [...createOpenwrt().packages.values()].flatMap(({ name, sections }) =>
  [...sections, ...(compiled.get(name) ?? [])].map((section) => ({ name, section })),
);

/** One or two values of a usual section in another spelling, and sometimes an option that it does not have otherwise. */
const anyForeign = fc
  .record({
    usual: fc.constantFrom(...usual),
    name: uciNames.map((name) => `by_hand_${name}`),
    anonymous: fc.boolean(),
    keys: fc.array(fc.nat(), { maxLength: 3 }),
    values: fc.array(fc.oneof(spelling, fc.array(spelling, { minLength: 1, maxLength: 3 })), {
      minLength: 3,
      maxLength: 3,
    }),
    added: fc.constantFrom('enabled', 'name', 'ifname', 'metric', 'priority', 'family', 'gateway'),
    adds: fc.boolean(),
  })
  .map(({ usual: { name: uciPackage, section }, keys, values, added, adds, ...own }) => {
    const all = Object.keys(section.options);
    const changed = keys.map((key, at) => [all[key % all.length] ?? added, values[at] ?? '']);
    const options = {
      ...section.options,
      ...Object.fromEntries(changed),
      ...(adds && { [added]: values[0] ?? '' }),
    };
    return { uciPackage, section: { ...section, ...own, options } };
  });

/** A stored rule, which admission may have taken when it knew less: one field of a sample has another spelling. */
const anyRule = fc
  .record({
    sample: fc.constantFrom(...specs),
    name: fc.constantFrom('one', 'two', 'three', 'four', 'five'),
    key: fc.nat(),
    value: fc.oneof(spelling, fc.array(spelling, { maxLength: 3 })),
  })
  .map(({ sample: { kind, spec }, name, key, value }) => {
    const all = Object.keys(spec);
    return ruleOf(kind, name, { ...spec, [all[key % all.length] ?? 'name']: value });
  });

const configurations = fc.record({
  foreign: fc.uniqueArray(anyForeign, { selector: ({ section }) => section.name, maxLength: 12 }),
  rules: fc.uniqueArray(anyRule, {
    selector: ({ kind, metadata }) => `${kind}/${metadata.name}`,
    maxLength: 6,
  }),
});

const ROUTES = `10.8.0.0/16 via 172.16.30.1 dev net1 
2001:db8:1::/48 via fe80::1 dev net0 metric 1024 pref medium
unreachable 10.11.0.0/16 metric 1
inet
0:	from all lookup local
1500:	not from 10.1.2.0/24 to 10.3.0.0/16 fwmark 0x10/0xff lookup main
2061:	from all fwmark 0x3d00/0x3f00 blackhole
inet6
32766:	from all lookup main
`;
const table = (rules: readonly string[]): string =>
  `table inet fw4 {\n\tchain forward {\n${rules
    .map((name) => `\t\ttcp dport 80 counter drop comment "!fw4: ${name}"\n`)
    .join('')}\t}\n}\n`;
const before = nftRulesIn(table(['sound', 'lost', 'by hand']));
const now = nftRulesIn(table(['sound']));

const route = (dst: string) => ({ dst, gw: '172.16.30.1', dev: 'net1', table: 'default' });
const comparable = [
  ruleOf('CNFRoute', 'sound-route', route('10.8.0.0/16')),
  ruleOf('CNFRoute', 'lost-route', route('10.9.0.0/16')),
  ruleOf('FirewallRule', 'sound', { proto: 'tcp', dest_port: '80', target: 'DROP' }),
  ruleOf('FirewallRule', 'lost', { proto: 'tcp', dest_port: '80', target: 'DROP' }),
];

const look = (openwrt: MemoryOpenwrt): KernelLook => {
  const compared = [
    ['network', lackingRouting(openwrt.sections('network'), ROUTES)],
    ['firewall', lackingRules(openwrt.sections('firewall'), before, now)],
  ] as const;
  return {
    lacking: new Map(compared.map(([name, { lacking }]) => [name, lacking])),
    incomparable: new Map(compared.map(([name, { incomparable }]) => [name, incomparable])),
  };
};

it(`no configuration of ${CASES} stops a pass, or hides what the kernel has and lacks`, async () => {
  await fc.assert(
    fc.asyncProperty(configurations, async ({ foreign, rules }) => {
      using folder = stateFolder();
      const openwrt = createOpenwrt();
      for (const { uciPackage, section } of foreign) {
        const sections = [...openwrt.sections(uciPackage), section];
        openwrt.packages.set(uciPackage, { name: uciPackage, sections });
      }
      const others = (): readonly UciSection[] =>
        [...openwrt.packages.values()]
          .flatMap(({ sections }) => sections)
          .filter(({ name }) => name.startsWith('by_hand_'));
      const atFirst = others();
      const kernel = { enumerable: true, get: () => look(openwrt) };
      Object.defineProperty(openwrt.reading, 'kernel', kernel);
      Object.defineProperty(openwrt.done, 'kernel', kernel);
      const agent = await openAgent(openwrt, folder.path);
      await agent.run([...comparable, ...rules]);
      await agent.run([...comparable, ...rules]);
      expect(others()).toEqual(atFirst);
      const standing = agent.standings.at(-1);
      const lacks = (key: string) => standing?.lacking.has(key);
      expect(['network.sdewan_route_sound_route', 'firewall.sdewan_rule_sound'].map(lacks)).toEqual(
        [false, false],
      );
      expect(['network.sdewan_route_lost_route', 'firewall.sdewan_rule_lost'].map(lacks)).toEqual([
        true,
        true,
      ]);
      expect(standing?.inForce).toContain('network.sdewan_route_sound_route');
      expect(standing?.inForce).toContain('firewall.sdewan_rule_sound');
      // What replaces a reload where few sections change reads the same packages.
      const after = { name: 'firewall', sections: openwrt.sections('firewall') };
      excerptOf({ ...after, sections: after.sections.slice(1) }, after);
    }),
    { numRuns: CASES },
  );
});
