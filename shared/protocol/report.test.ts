import { expect, it } from 'vitest';
import { informationSchema } from './information.ts';
import { reasons } from './reasons.ts';
import { openwrtStateSchema, ruleReportSchema } from './report.ts';

const word = {
  kind: 'FirewallRule',
  name: 'a',
  uid: 'uid-a',
  generation: 1,
  revision: 'r',
  state: 'Failed',
  reason: 'RefusedByOpenwrt',
  message: '',
};
const RED = '\u001B[31mred\u009B0m\u202E';

it.each(['', 'in words', 'UPPER-case', 'lower', '"} 1\nx{a="', 'A'.repeat(64)])(
  'refuses a reason that is no word: %j',
  (reason) => {
    expect(ruleReportSchema.safeParse({ ...word, reason }).success).toBe(false);
  },
);

it.each(Object.keys(reasons))('reason %s is one', (reason) => {
  expect(ruleReportSchema.safeParse({ ...word, reason }).success).toBe(true);
});

it('takes control characters out of what an agent says for people, and keeps its lines', () => {
  const message = `${RED}\n\tnext`;
  expect(ruleReportSchema.parse({ ...word, message }).message).toBe(' [31mred 0m \n\tnext');
  expect(ruleReportSchema.parse({ ...word, tunnelsDown: RED }).tunnelsDown).toBe(' [31mred 0m ');
  const state = { reachable: true, driver: RED, message, driftRepairs: 0 };
  expect(JSON.stringify(openwrtStateSchema.parse(state))).not.toMatch(/u001b|\u009B|\u202E/);
  const wan = { interface: RED, up: true, status: RED };
  const information = { interfaces: [], routes: [], tunnels: [], wans: [wan], leftOut: 0 };
  expect(informationSchema.parse(information).wans).toEqual([
    { interface: ' [31mred 0m ', up: true, status: ' [31mred 0m ' },
  ]);
});
