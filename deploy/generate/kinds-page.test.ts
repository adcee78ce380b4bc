import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkSpec } from '#shared/compile/check.ts';
import { resources } from '#shared/resources/resources.ts';
import { EXAMPLES, WHOLE } from './kinds-examples.ts';
import { kindsPage, SHORT_FORMS } from './kinds-page.ts';

const page = kindsPage(resources);
const written = resources.filter(
  ({ isCoordinatorsAlone, kind }) => !isCoordinatorsAlone && kind !== 'CNFStatus',
);

it('has an example for each kind that people write', () => {
  const shown = [...Object.keys(EXAMPLES), ...Object.keys(WHOLE)];
  expect(shown.sort()).toEqual(written.map(({ kind }) => kind).sort());
});

it.each(written.flatMap((kind) => (kind.kind in EXAMPLES ? [[kind.kind, kind] as const] : [])))(
  'shows a %s that is valid',
  (_, kind) => {
    const spec: unknown = parse((EXAMPLES[kind.kind] ?? '').replace('spec: …', 'spec: {}'));
    expect(checkSpec(kind, spec)).not.toHaveProperty('problem');
  },
);

it('refers to a kind that is alike, and has defaults and examples', () => {
  expect(page).toContain('fields are those of [IpsecHost](#ipsechost)');
  expect(page).toContain('`extra` are those of [FirewallRule](#firewallrule). The others:');
  expect(page).toContain('0 to 4; default `1`');
  expect(page.match(/^```yaml\nspec:/gm)).toHaveLength(Object.keys(EXAMPLES).length);
});

it('says which of the kinds that the coordinator alone writes are of no namespace', () => {
  const table = page.split('## Kinds that the coordinator alone writes')[1] ?? '';
  const clusters = table.split('\n').filter((line) => line.includes('| Cluster |'));
  expect(clusters).toEqual([expect.stringContaining('| NetworkPort |')]);
});

it.each([...SHORT_FORMS])('says "%s" once, and its short form more often', (long, short) => {
  expect(page.split(`| ${long} |`)).toHaveLength(2);
  expect(page.split(`| ${short} |`).length).toBeGreaterThan(3);
});
