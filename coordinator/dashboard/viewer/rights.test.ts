import { expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import type { Access, SignedIn } from './reviews.ts';
import { createRights, MAX_ASKED } from './rights.ts';

const rules = { group: 'g', resource: 'firewallrules' };
const ann: SignedIn = { username: 'ann', groups: [] };

const rightsOf = (may: (user: SignedIn, access: Access) => boolean) => {
  const clock = createManualClock();
  const asked: string[] = [];
  const mayList = async (user: SignedIn, access: Access): Promise<boolean> => {
    asked.push(`${user.username} ${access.resource} ${access.namespace ?? '*'}`);
    return may(user, access);
  };
  return { asked, clock, rights: createRights({ mayList }, clock) };
};

const inA = [{ namespace: 'a', listed: rules }];

it('asks for all namespaces first, then for each', async () => {
  const { asked, rights } = rightsOf((_, { namespace }) => namespace === 'a');
  const both = [...inA, { namespace: 'b', listed: rules }];
  const { sees, isPartial } = await rights.of(ann, both);
  expect([sees('a', rules), sees('b', rules), sees('c', rules), isPartial]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(asked).toEqual(['ann firewallrules *', 'ann firewallrules a', 'ann firewallrules b']);
});

it('asks for nothing more of a user with the right to see all', async () => {
  const { asked, rights } = rightsOf(() => true);
  expect((await rights.of(ann, inA)).sees('a', rules)).toBe(true);
  expect(asked).toEqual(['ann firewallrules *']);
});

it('keeps an answer for a minute from when it was asked for, for this user alone', async () => {
  let allowed = true;
  const { asked, clock, rights } = rightsOf((user) => allowed && user.username === 'ann');
  const sees = async (user: SignedIn) => (await rights.of(user, inA)).sees('a', rules);
  expect(await sees(ann)).toBe(true);
  allowed = false;
  clock.advance(59_999);
  expect(await sees(ann)).toBe(true);
  // The same name, and another group: another user to the API server.
  expect(await sees({ ...ann, groups: ['others'] })).toBe(false);
  clock.advance(1);
  expect(await sees(ann)).toBe(false);
  expect(asked.filter((one) => one === 'ann firewallrules *')).toHaveLength(3);
});

it('does not take an answer that did not come for one', async () => {
  let fails = true;
  const { rights } = rightsOf(() => {
    if (fails) throw new Error('no API server');
    return true;
  });
  await expect(rights.of(ann, inA)).rejects.toThrow('no API server');
  fails = false;
  expect((await rights.of(ann, inA)).sees('a', rules)).toBe(true);
});

it('asks about a thousand single namespaces at most, eight at a time, and says so', async () => {
  let underWay = 0;
  let most = 0;
  const clock = createManualClock();
  let asked = 0;
  const mayList = async (_: SignedIn, { namespace }: Access): Promise<boolean> => {
    asked += 1;
    underWay += 1;
    most = Math.max(most, underWay);
    await Promise.resolve();
    underWay -= 1;
    return namespace !== undefined;
  };
  const many = Array.from({ length: MAX_ASKED + 1 }, (_, at) => ({
    namespace: `n${at}`,
    listed: rules,
  }));
  const { sees, isPartial } = await createRights({ mayList }, clock).of(ann, many);
  expect([asked, most, isPartial]).toEqual([MAX_ASKED + 1, 8, true]);
  expect([sees(`n${MAX_ASKED - 1}`, rules), sees(`n${MAX_ASKED}`, rules)]).toEqual([true, false]);
});
