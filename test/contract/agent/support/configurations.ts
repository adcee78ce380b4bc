/**
 * Whole configurations: an administrator's sections and stored rules, with values in every spelling
 * that a parser of OpenWRT takes, and some that none takes.
 */
import { compile } from '#shared/compile/compile.ts';
import { inputOf, ruleOf } from '#shared/compile/testing.ts';
import { isUciValue } from '#shared/uci/names.ts';
import { anyText, uciNames } from '#shared/uci/testing.ts';
import * as fc from 'fast-check';
import { createOpenwrt } from '../../../../agent/reconcile/testing.ts';
import { allSamples } from '../../../samples/all.ts';

/** What begins the names of the administrator's sections. */
export const BY_HAND = 'by_hand_';

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

/**
 * One or two values of a usual section in another spelling, and sometimes an option that it does
 * not have otherwise.
 */
const anyForeign = fc
  .record({
    usual: fc.constantFrom(...usual),
    name: uciNames.map((name) => `${BY_HAND}${name}`),
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

/**
 * A stored rule, which admission may have taken when it knew less: one field of a sample has
 * another spelling.
 */
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

export const configurations = fc.record({
  foreign: fc.uniqueArray(anyForeign, { selector: ({ section }) => section.name, maxLength: 12 }),
  rules: fc.uniqueArray(anyRule, {
    selector: ({ kind, metadata }) => `${kind}/${metadata.name}`,
    maxLength: 6,
  }),
});

const route = (dst: string) => ({ dst, gw: '172.16.30.1', dev: 'net1', table: 'default' });
const drop = { proto: 'tcp', dest_port: '80', target: 'DROP' };
export const soundRoute = ruleOf('CNFRoute', 'sound-route', route('10.8.0.0/16'));
/** Rules that OpenWRT has as they are written. */
export const sound = [soundRoute, ruleOf('FirewallRule', 'sound', drop)];
/** Rules that the kernel lacks. */
export const lost = [
  ruleOf('CNFRoute', 'lost-route', route('10.9.0.0/16')),
  ruleOf('FirewallRule', 'lost', drop),
];
