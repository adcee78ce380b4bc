/**
 * Events on a pod about what its agent reports: comments that its first write has removed from
 * OpenWRT's files, one Event for each file, whichever program restarts; and a state folder that it
 * cannot write.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { eventually } from '../support/eventually.ts';
import { createRunningPod } from './pods.ts';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
let agent: SimulatedAgent;
beforeAll(async () => {
  fixture = await createFixture();
  agent = await createAgent(fixture, await createRunningPod(fixture, { name: 'cnf-1-a' }));
});
afterAll(async () => {
  await agent.close();
  await fixture.close();
});

const listSchema = z.object({
  items: z.array(
    z.object({
      reason: z.string(),
      type: z.string(),
      message: z.string(),
      count: z.int(),
      involvedObject: z.object({ kind: z.string(), name: z.string() }),
    }),
  ),
});
const events = async (wanted = 'CommentsRemoved') => {
  const command = ['get', 'events', '-n', fixture.namespace, '-o', 'json'];
  const { stdout } = await fixture.cluster.kubectl(command);
  return listSchema.parse(JSON.parse(stdout)).items.filter(({ reason }) => reason === wanted);
};
const files = async (): Promise<string[]> =>
  (await events()).map(({ message }) => /\/etc\/config\/\w+/.exec(message)?.[0] ?? '').sort();
/** An agent says it until the coordinator that leads has taken it. */
const says = (...packages: readonly string[]) =>
  eventually(() => agent.lostComments(...packages)).toMatchObject({ status: 200 });

it('are reported by one Event for each file, which says what to do', async () => {
  await says('firewall', 'mwan3');
  await says('firewall');
  await says('network');
  await eventually(files).toEqual([
    '/etc/config/firewall',
    '/etc/config/mwan3',
    '/etc/config/network',
  ]);
  for (const event of await events())
    expect(event).toMatchObject({
      type: 'Normal',
      count: 1,
      involvedObject: { kind: 'Pod', name: 'cnf-1-a' },
      message: expect.stringMatching(/removed the comments .* Keep notes outside of that file/),
    });
});

it('cause no second Event when agent and coordinator have restarted and they are reported again', async () => {
  await fixture.killCoordinator();
  await fixture.startCoordinator();
  agent.boots();
  await says('firewall');
  await says('ipsec');
  // Events are written one after the other: a second one about an earlier file would be there by
  // now.
  await eventually(files).toContain('/etc/config/ipsec');
  expect(await files()).toHaveLength(4);
  expect((await events()).map(({ count }) => count)).toEqual([1, 1, 1, 1]);
});

it('has one Event for a state folder that cannot be written, however often it is reported', async () => {
  const cause =
    'the agent cannot write ledger.json in its state folder /run/x: ENOSPC: no space left';
  await agent.cannotWrite(cause);
  await agent.cannotWrite(cause);
  await eventually(() => events('StateFolderUnwritable')).toMatchObject([
    {
      type: 'Warning',
      count: 1,
      involvedObject: { kind: 'Pod', name: 'cnf-1-a' },
      message: expect.stringContaining(`${cause}; until that is mended nothing is changed`),
    },
  ]);
});

it('sections of others that the agent cannot compare with the kernel have one Event for each package', async () => {
  const wan = {
    package: 'network',
    sections: "wan (netifd does not understand option target 'x')",
  };
  await agent.cannotCompare(wan);
  await agent.cannotCompare(wan, { package: 'mwan3', sections: 'balanced (no such protocol)' });
  const told = async () =>
    (await events('SectionsUnread')).sort((a, b) => (b.message < a.message ? -1 : 1));
  await eventually(told).toMatchObject([
    {
      type: 'Warning',
      count: 1,
      involvedObject: { kind: 'Pod', name: 'cnf-1-a' },
      message: `the agent cannot tell whether the kernel has what others have put into /etc/config/network on OpenWRT: ${wan.sections}`,
    },
    { count: 1, message: expect.stringContaining('/etc/config/mwan3') },
  ]);
});
