/**
 * Random histories of mwan3: rules and policies, also with values that it or the kernel does not
 * take, uplinks that come and go, an administrator's own rules, a kernel without sets, a chain that
 * is flushed. After each step the kernel has what a second, untouched mwan3 makes of the same
 * package, and each rule of ours is in force, or says why not. `SDEWAN_TIMES`: so many times as
 * many.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { readUci } from '../../openwrt/checks/uci.ts';
import { createRandom, type Random } from '../../run/random.ts';
import { markReplay } from '../../run/replay.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import { byChain, onTheSimulator, places, type Place } from './mwan3-places.ts';

const HISTORIES = caseCount(4);
const STEPS = 15;
/**
 * What is refused takes a pass more than what is not, and what is being reloaded is looked at
 * again.
 */
const PASSES = 6;
const TIMEOUT_MS = 600_000;

const PACKAGE = `
config globals 'globals'
	option mmx_mask '0x3F00'

config interface 'net1'
	option enabled '1'

config interface 'net2'
	option enabled '1'

config member 'a_net1'
	option interface 'net1'
	option weight '2'

config policy 'a_policy'
	list use_member 'a_net1'

config rule 'a_dns'
	option dest_ip '9.9.9.9'
	option use_policy 'a_policy'
`;
const many = (count: number): string => [...Array(count).keys()].map((at) => at + 1).join(' ');
const theirs = (ports: number): string =>
  `\nconfig rule 'a_ports'\n\toption proto 'tcp'\n\toption use_policy 'a_policy'\n\toption dest_port '${many(ports).replaceAll(' ', ',')}'\n`;
const THEIRS = /\nconfig rule 'a_ports'\n(?:\t.*\n)*/;
const NOTE = /\nconfig note '.*'\n/;

const BUILT_IN = ['default', 'unreachable', 'blackhole'];
const GOOD = [
  {},
  { proto: 'tcp', dest_port: '80 443 8000-8100' },
  { proto: 'tcp', dest_port: many(15) },
  { proto: 'tcp', dest_port: '90-90 95' },
  { proto: 'udp', src_port: '1024-65535', dest_ip: '10.1.0.0/16' },
  { proto: 'icmp', family: 'ipv6' },
  { src_ip: '2001:db8::/32' },
  { dest_ip: '0.0.0.0/0' },
];
const STICKY = { proto: 'udp', sticky: 1 };
/** As an older version may have stored them, or that no schema tells. */
const BAD = [
  { proto: 'tcp', dest_port: many(16) },
  { src_ip: '10.0.0.1', dest_ip: '2001:db8::1' },
  { family: 'ipv6', dest_ip: '10.0.0.1' },
];

/** `isGood` undefined: as its kernel was when it was tried, which it is once. */
type Ours = { rule: RuleObject; isGood: boolean | undefined; policy?: string };
const used = ({ policy = 'default' }: Ours): readonly string[] =>
  BUILT_IN.includes(policy) ? [] : [policy];

describe.each(places)('histories of mwan3 on %s', (_where, open) => {
  let place: Place;
  let model: Place;
  let before: string;
  beforeAll(async () => {
    place = await open();
    before = place.text();
    model = await onTheSimulator();
    model.setSets(place.hasSets);
  }, TIMEOUT_MS);
  afterAll(async () => {
    place.edit(before);
    await place.restart();
    await place.leave();
    await model.leave();
  }, TIMEOUT_MS);

  const kernelAsOf = (shown: string): readonly string[] =>
    byChain(
      shown
        .replaceAll(/^== refused .*\n(?:(?!== ).*\n)*/gm, '')
        // The kernel keeps it as a fraction of its own.
        .replaceAll(/(--probability \d\.\d{3})\d*/g, '$1'),
    ).filter(
      // For an uplink that is down, and whose device only mwan3 knows; or one that was up when a
      // sticky rule was loaded.
      (line) => !/--comment "out |^-A mwan3_rule_\S+ .*-j MARK/.test(line),
    );

  const history = (random: Random) => {
    const ours = new Map<string, Ours>();
    const leaving = new Map<string, RuleObject>();
    let generation = 0;
    let ports = 0;
    let hasSets = place.hasSets;
    const up = new Set(['net1', 'net2']);

    const put = (kind: string, name: string, spec: object, more: Omit<Ours, 'rule'>): string => {
      generation += 1;
      const rule = cr(kind, name, spec, {
        generation,
        annotations: { [ORDER_ANNOTATION]: String(random.int(3)) },
      });
      ours.set(name, { rule, ...more });
      return `${kind} ${name} ${JSON.stringify(spec)}`;
    };
    const remove = (name: string): string | undefined => {
      if (leaving.has(name)) return `${name} is going`;
      const { rule } = ours.get(name) ?? {};
      if (rule === undefined || random.int(3) > 0) return undefined;
      ours.delete(name);
      leaving.set(name, deleted(rule));
      return `${name} goes`;
    };
    const policy = (): string => {
      const name = random.pick(['p1', 'p2']);
      const isGood = random.int(4) > 0;
      const members = random
        .pick([['ovn-net1'], ['ovn-net2'], ['ovn-net1', 'ovn-net2']])
        .map((network) => ({
          network,
          metric: isGood ? random.pick([1, 2, 256]) : 300,
          weight: 1 + random.int(3),
        }));
      return remove(name) ?? put('Mwan3Policy', name, { members }, { isGood });
    };
    const rule = (): string => {
      const name = random.pick(['r1', 'r2', 'r3', 'r4']);
      const to = random.pick(['p1', 'p2', 'p1', 'p2', ...BUILT_IN]);
      const [specs, isGood] = random.pick<[readonly object[], boolean | undefined]>([
        [GOOD, true],
        [GOOD, true],
        [BAD, false],
        [[STICKY], undefined],
      ]);
      const spec = { policy: to, ...random.pick(specs) };
      return remove(name) ?? put('Mwan3Rule', name, spec, { isGood, policy: to });
    };
    const uplink = (): string => {
      const name = random.pick(['net1', 'net2']);
      const isUp = !up.delete(name);
      if (isUp) up.add(name);
      place.setUp(name, isUp);
      return `${name} ${isUp ? 'up' : 'down'}`;
    };
    const administrator = async (): Promise<string> => {
      ports = random.pick([0, 15, 16]);
      place.edit(place.text().replace(THEIRS, '') + (ports === 0 ? '' : theirs(ports)));
      await place.restart();
      return `${ports} ports of the administrator`;
    };
    const sets = async (): Promise<string> => {
      if (!place.hasSets) return 'a kernel that has no sets';
      hasSets = !hasSets;
      for (const each of [place, model]) each.setSets(hasSets);
      await place.restart();
      return `sets: ${hasSets}`;
    };
    /** Where no rule of ours is, it is nothing to the agent. */
    const flush = (): string => {
      const isOurs = place.pass
        .reports()
        .some(({ kind, reason }) => kind === 'Mwan3Rule' && reason === 'Applied');
      if (!isOurs) return 'nothing of ours in the chain';
      place.flush();
      return 'the chain is flushed';
    };
    const steps = [policy, rule, rule, rule, uplink, uplink, administrator, sets, flush];

    const inKernel = async (file: string): Promise<string[]> => {
      const shown = place.chains();
      const [online = ''] = shown.split('\n');
      model.edit(file);
      for (const name of ['net1', 'net2']) model.setOnline(name, online.includes(name));
      await model.restart();
      const [wanted, found] = [model.chains(), shown].map(kernelAsOf);
      const lacking = wanted?.filter((line, at) => found?.[at] !== line) ?? [];
      const isNone = model.chains().includes('\n== refused') && ports < 16;
      return [
        ...(lacking.length > 0 || wanted?.length !== found?.length
          ? [`not in the kernel: ${lacking.join('; ')}; but ${found?.join('; ')}`]
          : []),
        ...(isNone ? ['a rule of ours keeps all others out'] : []),
      ];
    };
    const isKeptOut = ({ rule: { kind } }: Ours): boolean => kind === 'Mwan3Rule' && ports === 16;
    const inStatuses = (file: string): string[] => {
      const states = new Map(place.pass.reports().map((report) => [report.name, report]));
      const sections = new Set(readUci(file).map(({ name }) => name));
      const saidOf = (name: string): string => {
        const { reason, message } = states.get(name) ?? {};
        return `${name} says ${reason}: ${message}`;
      };
      // A policy that is wrong now may have been right before.
      const mayApply = (name: string, one: Ours): boolean =>
        [name, ...used(one)].every((each) => sections.has(each)) &&
        one.isGood !== false &&
        !isKeptOut(one);
      const mustApply = (one: Ours): boolean =>
        one.isGood === true && used(one).every((each) => ours.get(each)?.isGood === true);
      const live = [...ours].filter(([name, one]) => {
        const { reason, message = '' } = states.get(name) ?? {};
        if (reason === 'Applied') return !mayApply(name, one);
        if (mustApply(one)) return !isKeptOut(one) || !message.includes('a_ports');
        return message === '';
      });
      const left = [...leaving.keys()].filter((name) => {
        const { state, reason } = states.get(name) ?? {};
        return sections.has(name) ? reason !== 'InUse' : state !== 'Removed';
      });
      const all = ['a_dns', ...(ports === 0 ? [] : ['a_ports'])];
      return [
        ...[...live.map(([name]) => name), ...left].map(saidOf),
        ...all.filter((name) => !sections.has(name)).map((name) => `${name} is not there`),
      ];
    };

    /** A package that was written is a cause to look into the kernel. */
    const settled = async (): Promise<string[]> => {
      place.edit(`${place.text().replace(NOTE, '')}\nconfig note 'n_${(generation += 1)}'\n`);
      for (let passes = 1; ; passes += 1) {
        await place.pass.run([...[...ours.values()].map((one) => one.rule), ...leaving.values()]);
        const file = place.text();
        const wrong = [...(await inKernel(file)), ...inStatuses(file)];
        for (const { name, state } of place.pass.reports())
          if (state === 'Removed') leaving.delete(name);
        if (wrong.length === 0 || passes === PASSES) return wrong;
      }
    };
    return {
      /** What was done, and what is wrong after it. */
      step: async () => {
        const did = await random.pick(steps)();
        return { did, wrong: await settled() };
      },
      end: async () => {
        for (const [name, one] of ours) leaving.set(name, deleted(one.rule));
        ours.clear();
        for (const name of ['net1', 'net2']) if (!up.has(name)) place.setUp(name, true);
        if (hasSets !== place.hasSets) await sets();
        return settled();
      },
    };
  };

  it.each(Array.from({ length: HISTORIES }, (_, at) => at + 1))(
    'history %i: after each step the kernel has what the rules say, or they say why not',
    { timeout: TIMEOUT_MS },
    async (at) => {
      markReplay();
      place.edit(PACKAGE);
      await place.restart();
      const { step, end } = history(createRandom(SEED * 1_000 + at));
      const done: string[] = [];
      for (let n = 1; n <= STEPS; n += 1) {
        const { did, wrong } = await step();
        done.push(did);
        expect([...done, ...wrong]).toEqual(done);
      }
      expect([...done, ...(await end())]).toEqual(done);
    },
  );
});
