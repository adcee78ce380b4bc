/**
 * The golden UCI of every kind, through every way to write: what the judge reads in the golden
 * file, it reads on the OpenWRT.
 */
import { describe, expect, it } from 'vitest';
import { compile } from '#shared/compile/compile.ts';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { agentKinds } from '#shared/resources/registry.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { briefly, packagesIn } from '../../golden/brief.ts';
import { cases, childrenOf, inputFor } from '../../golden/cases.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import { samplesOf } from '../../samples/all.ts';
import { icnSectionOf } from '../../samples/icn-table.ts';
import { filesOf, ICN_PACKAGES, icnDriver, startIcn } from '../agent/support/icn-rest.ts';
import { timed } from '../agent/support/time.ts';
import { NEVER, shown } from './bench.ts';
import { uciFixture } from './fixtures.ts';
import { simulatedPaths } from './paths.ts';

/**
 * fw4 would take the rest of a rule with arguments of iptables, so the agent writes no such rule
 * there: it is the rest that is tried.
 */
const asWritten = ({ options, ...section }: DeviceSection): UciSection => ({
  ...section,
  options: Object.fromEntries(
    Object.entries(options).filter(([name]) => !name.startsWith('extra')),
  ),
  name: section.name ?? '',
  anonymous: false,
});
const appending = (config: string, append: readonly UciSection[]): UciDelta => ({
  package: config,
  remove: [],
  set: [],
  append,
});

/** ICN's REST has packages and options of its own. */
const inUci = simulatedPaths.filter(({ fixture }) => fixture === uciFixture);

describe.each(inUci)('golden UCI through $name', ({ open }) => {
  it.each(cases)('$name', async ({ kept, isSwanctl, isBrief }) => {
    const golden = packagesIn(kept(isSwanctl ? 'swanctl' : 'uci'), isBrief);
    expect(golden.size).toBeGreaterThan(0);
    const target = await open();
    const driver = target.driver();
    await driver.read(NEVER);
    const deltas = [...golden].map(([config, sections]) =>
      appending(config, sections.map(asWritten)),
    );
    expect(await driver.apply(deltas, NEVER)).toMatchObject({ outcome: 'done' });
    for (const [config, sections] of golden) {
      const names = new Set(sections.map((section) => section.name));
      const found = (await target.sections(config)).filter((one) => names.has(one.name ?? ''));
      expect(found).toEqual(sections.map(asWritten).map(shown));
    }
    await target.leave();
  });
});

/** Texts of sections, as `config` begins each. Comments go with the first commit. */
const blocksIn = (text: string): string[] =>
  text
    .replaceAll(/^#.*\n/gm, '')
    .split(/^(?=config )/m)
    .flatMap((block) => block.trim() || []);

/** The device that cases send traffic by, and that a fresh CNF does not have. */
const TUNNEL = "\nconfig interface 'vti'\n\toption device 'vti_10.1.2.3'\n";

describe("golden UCI through ICN's REST", () => {
  const held = new Set<string>();
  it.each(cases.filter(({ isSwanctl }) => !isSwanctl))('$name', async (golden) => {
    const openwrt = await startIcn();
    openwrt.write('network', openwrt.text('network') + TUNNEL);
    const driver = timed(icnDriver(openwrt), openwrt.clock);
    const { packages: observed } = await driver.read(NEVER);
    const textsOf = () => ICN_PACKAGES.map((file) => openwrt.simulator.store.text(file) ?? '');
    const before = textsOf().map(blocksIn);
    const { desired, verdicts } = compile(
      inputFor(golden, { capabilities: { ...ASSUMED, dialect: 'icn' }, observed }),
    );
    const deltas = [...desired].map(([config, sections]) => appending(config, sections));
    expect(await driver.apply(deltas, NEVER)).toMatchObject({ outcome: 'done' });

    const lacking = verdicts
      .filter(({ verdict }) => verdict !== 'wanted')
      .map(
        ({ rule: { kind, metadata }, reason, message }) =>
          `# ${kind}/${metadata.name}: ${reason}: ${message}\n`,
      );
    const added = textsOf().flatMap((text, at) => {
      const blocks = blocksIn(text).filter((block) => !before[at]?.includes(block));
      return blocks.length === 0 ? [] : [`package ${ICN_PACKAGES[at]}\n\n${blocks.join('\n\n')}\n`];
    });
    const whole = [lacking.join(''), ...added].filter((part) => part !== '').join('\n');
    const text = golden.isBrief ? briefly(whole) : whole;
    expect(text).toBe(golden.kept('icn', text));

    const files = filesOf(openwrt);
    const { rules } = golden;
    const isWanted = new Set(
      verdicts.filter(({ verdict }) => verdict === 'wanted').map(({ rule }) => rule.metadata.uid),
    );
    for (const { kind, metadata, spec } of [...rules, ...childrenOf(rules)]) {
      const { icnFields } = samplesOf(kind);
      if (!icnFields || !isWanted.has(metadata.uid)) continue;
      const section = icnSectionOf(icnFields, metadata.name, spec);
      held.add(kind);
      const { file, ...wanted } = section;
      expect(files[file]).toContainEqual(
        expect.objectContaining({ ...wanted, options: expect.objectContaining(wanted.options) }),
      );
    }
    await driver.close();
    await openwrt.stop();
  });

  it('holds every kind that ICN has in some case', () => {
    const ofIcn = agentKinds.filter(({ icn }) => icn !== undefined).map(({ kind }) => kind);
    expect(ofIcn.filter((kind) => !held.has(kind))).toEqual([]);
    expect(ofIcn).toEqual(
      agentKinds.flatMap(({ kind }) => (samplesOf(kind).icnFields ? kind : [])),
    );
  });
});
