import { expect, it } from 'vitest';
import { kinds } from './registry.ts';
import { resourceOfRule, resources } from './resources.ts';

/** `kubectl get` takes all of them, in one name space. */
it('have no name in common', () => {
  const names = resources.flatMap(({ kind, plural, shortNames }) => [
    ...new Set([plural, kind.toLowerCase(), ...shortNames]),
  ]);
  expect(names).toEqual([...new Set(names)]);
});

it('install every rule with a status and columns', () => {
  for (const { kind } of kinds)
    expect(resources.find((one) => one.kind === kind)).toMatchObject({
      kind,
      status: expect.anything(),
      columns: expect.arrayContaining([expect.objectContaining({ name: 'In Sync' })]),
    });
});

it("replace the common status schema by a kind's own one", () => {
  const [rule] = kinds;
  const own = rule!.spec;
  expect(resourceOfRule({ ...rule!, status: own }).status).toBe(own);
});
