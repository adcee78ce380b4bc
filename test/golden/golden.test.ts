/**
 * CRs in, UCI out: the samples of each kind come to the sections kept with them, combinations to
 * the packages one after the other as `uci export` writes them, and both to the files that they
 * refer to. `UPDATE=1` rewrites the texts. They are read by a reader that is not ours and compared
 * with the table of fields, so that an update cannot make a wrong text pass.
 */
import { isDeepStrictEqual } from 'node:util';
import { compile } from '#shared/compile/compile.ts';
import { deviceFiles } from '#shared/resources/device-files.ts';
import { kinds } from '#shared/resources/registry.ts';
import { formatPackage } from '#shared/uci/format.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readUci } from '../openwrt/checks/uci.ts';
import { allSamples, samplesOf } from '../samples/all.ts';
import { expectedSection, INTERFACES } from '../samples/uci-table.ts';
import { briefly } from './brief.ts';
import { cases, childrenOf, inputFor, type Case } from './cases.ts';

const exported = (golden: Case): string =>
  [...compile(inputFor(golden)).desired]
    .filter(([packageName, sections]) => packageName !== deviceFiles.name && sections.length > 0)
    .map(
      ([packageName, sections]) =>
        `package ${packageName}\n${formatPackage({ name: packageName, sections })}`,
    )
    .join('\n');

const kept = (golden: Case): string =>
  golden.isBrief ? briefly(exported(golden)) : exported(golden);

const filesOf = (golden: Case): string =>
  (compile(inputFor(golden)).desired.get(deviceFiles.name) ?? [])
    .map(({ name: path, options }) => `${path}\n${String(options.content)}`)
    .join('\n');

describe.each(cases)('golden: $name', (golden) => {
  const [uci, files] = golden.isSwanctl
    ? (['swanctl', 'swanctlFiles'] as const)
    : (['uci', 'files'] as const);

  it('is accepted', () => {
    const problems = compile(inputFor(golden)).verdicts.filter(({ verdict }) => verdict !== 'wanted');
    expect(problems.map(({ rule, message }) => `${rule.metadata.name}: ${message}`)).toEqual([]);
  });

  it.each([
    ['the UCI text', uci, kept],
    ['the files', files, filesOf],
  ] as const)('comes to %s as kept', (_what, key, make) => {
    const text = make(golden);
    expect(text).toBe(golden.kept(key, text));
  });

  it('has each field of the spec where the table of fields puts it', () => {
    const sections = readUci(exported(golden));
    for (const { kind, metadata, spec } of golden.rules) {
      const { section, type, options } = expectedSection(samplesOf(kind).fields, metadata.name, spec);
      const found = sections.find((candidate) => candidate.name === section);
      expect(found, `section ${section}`).toMatchObject({ type, options });
    }
  });
});

it.each(cases)('tells agents of $name whether it differs by the place of a pod', (golden) => {
  const at = (distance: number, peer: string): unknown => {
    const [peers, own] = [peer, `${peer}0`].map(
      (one) => new Map([...Object.values(INTERFACES), 'eth0'].map((device) => [device, [one]])),
    );
    const place = { distance, peers: peers ?? new Map(), ...(own && { own }) };
    return compile({ ...inputFor(golden), place }).desired;
  };
  const uses = golden.rules.some(({ kind }) =>
    kinds.some((known) => known.kind === kind && known.uci?.usesPlace),
  );
  const differs = !isDeepStrictEqual(at(0, '10.0.0.2'), at(2, '10.0.0.3'));
  expect(differs).toBe(uses);
});

it('has samples of every kind', () => {
  expect(allSamples.map(({ kind }) => kind)).toEqual(kinds.map(({ kind }) => kind));
});

it.each(allSamples)('covers every field of $kind', ({ kind, ofIcn, rendered }) => {
  const { spec } = kinds.find((known) => known.kind === kind)!;
  const given = new Set([...ofIcn, ...rendered].flatMap((sample) => Object.keys(sample.spec)));
  const fields = spec instanceof z.ZodObject ? Object.keys(spec.shape) : [];
  expect(fields.filter((field) => !given.has(field))).toEqual([]);
});

it('lets the coordinator create every kind that it makes of others', () => {
  const made = new Set(cases.flatMap(({ rules }) => childrenOf(rules).map(({ kind }) => kind)));
  const allowed = kinds.filter(({ isMadeByCoordinator }) => isMadeByCoordinator);
  expect(made.size).toBeGreaterThan(1);
  expect([...made].filter((kind) => !allowed.some((one) => one.kind === kind))).toEqual([]);
});
