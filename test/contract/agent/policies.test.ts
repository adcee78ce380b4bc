/**
 * The table of policies on an OpenWRT: loaded in one transaction, read back, gone when the ruleset
 * is flushed, and refused as a whole.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { policyTable, type PolicyTable, type TableEntry } from '#shared/policy/nft-table.ts';
import type { Driver, Policies } from '../../../agent/openwrt/driver.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { openPass, type TestPass } from './support/pass.ts';

const NEVER = new AbortController().signal;
const TABLE = 'sdewan_policy';

const entry: TableEntry = {
  id: 'web',
  title: 'ns/web',
  enforcement: {
    pods: 'pods',
    ingress: [{ peers: [{ group: 'clients' }], ports: [{ protocol: 'TCP', port: 80 }] }],
  },
};
const tableFor = (clients: readonly string[], pods = ['10.0.0.1', 'fd00::1']): PolicyTable =>
  policyTable([entry], (group) => (group === 'pods' ? pods : clients));
const many = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);

let openwrt: TestOpenwrt;
let agent: TestPass;
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const policiesOf = (driver: Driver): Policies => {
  const policies = driver.policies?.();
  if (policies === undefined) throw new Error('the driver has no policies');
  return policies;
};

/** After a first pass: the agent does not log in for policies alone. */
const start = async (options: OpenwrtOptions = { login: 'mounted' }): Promise<Policies> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
  await agent.run([]);
  return policiesOf(agent.driver);
};

const listed = (): string => openwrt.simulator.policies.listed(TABLE);

describe('with the login of the agent', () => {
  it('loads a table, reads it back and recognises it, without a reload', async () => {
    const policies = await start();
    const before = openwrt.simulator.reloads();
    expect(await policies.marker(NEVER)).toEqual({ marker: '' });
    const table = tableFor(['10.0.0.9']);
    expect(await policies.load(table, undefined, NEVER)).toEqual({ outcome: 'loaded' });
    expect(await policies.marker(NEVER)).toEqual({ marker: table.hash });
    expect(listed()).toContain('elements = { 10.0.0.9 }');
    expect(listed()).toContain('tcp dport 80 ip saddr @g_clients_4 accept');
    expect(openwrt.simulator.reloads()).toEqual(before);
  });

  it('changes the set of another member alone', async () => {
    const policies = await start();
    const before = tableFor(['10.0.0.9']);
    await policies.load(before, undefined, NEVER);
    const after = tableFor(['10.0.0.10', 'fd00::10']);
    expect(await policies.load(after, before, NEVER)).toEqual({ outcome: 'loaded' });
    expect(listed()).toContain('elements = { 10.0.0.10 }');
    expect(listed()).toContain('elements = { fd00::10 }');
    expect(listed()).not.toContain('10.0.0.9');
    expect(await policies.marker(NEVER)).toEqual({ marker: after.hash });
  });

  it('five thousand members are written in parts, and read in blocks', async () => {
    const policies = await start();
    const before = tableFor(many(5_000));
    expect(await policies.load(before, undefined, NEVER)).toEqual({ outcome: 'loaded' });
    const after = tableFor(many(4_999));
    expect(await policies.load(after, before, NEVER)).toEqual({ outcome: 'loaded' });
    expect(await policies.marker(NEVER)).toEqual({ marker: after.hash });
  });

  it.each<[string, () => void]>([
    ['the ruleset is flushed', () => openwrt.simulator.policies.flush()],
    ['the table alone is deleted', () => openwrt.simulator.policies.remove(TABLE)],
    ['the marker is deleted', () => openwrt.simulator.policies.remove(`${TABLE}_rev`)],
  ])('sees that %s', async (_what, harm) => {
    const policies = await start();
    const table = tableFor(['10.0.0.9']);
    await policies.load(table, undefined, NEVER);
    harm();
    expect(await policies.marker(NEVER)).toEqual({ marker: '' });
    await policies.load(table, undefined, NEVER);
    expect(await policies.marker(NEVER)).toEqual({ marker: table.hash });
  });

  it('reads by counter what is denied, which is no drift', async () => {
    const policies = await start();
    const table = tableFor(['10.0.0.9']);
    await policies.load(table, undefined, NEVER);
    expect(await policies.denied(NEVER)).toEqual(new Map());
    openwrt.simulator.policies.count(TABLE, 'in_web', 12);
    expect(await policies.denied(NEVER)).toEqual(new Map([['in_web', 12]]));
    expect(await policies.marker(NEVER)).toEqual({ marker: table.hash });
    await policies.load(undefined, table, NEVER);
    expect(await policies.denied(NEVER)).toEqual(new Map());
  });

  it('changes nothing for what nft refuses, and brings its words back', async () => {
    const policies = await start();
    const before = tableFor(['10.0.0.9']);
    await policies.load(before, undefined, NEVER);
    const wrong = { ...tableFor([]), chains: '  chain ingress {\n    counter drip\n  }\n' };
    expect(await policies.load(wrong, undefined, NEVER)).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('unexpected counter drip'),
    });
    expect(await policies.marker(NEVER)).toEqual({ marker: before.hash });
  });

  it('changes nothing by what is tried out, whether nft would take it or not', async () => {
    const policies = await start();
    const before = tableFor(['10.0.0.9']);
    await policies.load(before, undefined, NEVER);
    const kept = listed();
    const wrong = { ...tableFor([]), chains: '  chain ingress {\n    counter drip\n  }\n' };
    expect(await policies.tryOut(tableFor(many(5_000)), NEVER)).toEqual({ outcome: 'loaded' });
    expect(await policies.tryOut(wrong, NEVER)).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('unexpected counter drip'),
    });
    expect(listed()).toBe(kept);
    expect(await policies.marker(NEVER)).toEqual({ marker: before.hash });
    expect(openwrt.simulator.policies.listed('sdewan_policy_trial')).toBe('');
  });

  it('refuses a change of members of a table that is gone, and does not make half of it', async () => {
    const policies = await start();
    const before = tableFor(['10.0.0.9']);
    await policies.load(before, undefined, NEVER);
    openwrt.simulator.policies.flush();
    expect(await policies.load(tableFor([]), before, NEVER)).toMatchObject({ outcome: 'refused' });
    expect(listed()).toBe('');
  });

  it('does not call loaded what nft does not list as it was written', async () => {
    const policies = await start();
    const { policies: kernel } = openwrt.simulator;
    const list = kernel.listed.bind(kernel);
    vi.spyOn(kernel, 'listed').mockImplementation((name) =>
      list(name).replace('10.0.0.9', '10.0.0.8'),
    );
    await expect(policies.load(tableFor(['10.0.0.9']), undefined, NEVER)).rejects.toThrow(
      'nft does not list set g_clients_4 as it was loaded',
    );
  });

  it('leaves nothing of a removed table, which may be removed again', async () => {
    const policies = await start();
    const before = tableFor(['10.0.0.9']);
    await policies.load(before, undefined, NEVER);
    for (const known of [before, undefined]) {
      expect(await policies.load(undefined, known, NEVER)).toEqual({ outcome: 'loaded' });
      expect(listed()).toBe('');
      expect(await policies.marker(NEVER)).toEqual({ marker: '' });
    }
  });
});

describe('where policies cannot be', () => {
  it.each(['own', 'stock'] as const)(
    '(%s) the reason is said, and nothing is tried',
    async (login) => {
      const policies = await start({ login });
      const answer = await policies.marker(NEVER);
      expect(answer).toMatchObject({
        unsupported: expect.stringMatching(/OpenWRT has no|may not/),
      });
      expect(await policies.load(tableFor([]), undefined, NEVER)).toMatchObject({
        outcome: 'unsupported',
      });
      expect(await policies.denied(NEVER)).toBeUndefined();
      expect(listed()).toBe('');
    },
  );

  it('stay so without a session: the agent does not log in for them', async () => {
    openwrt = await startOpenwrt({ login: 'mounted' });
    agent = await openPass(openwrt);
    await expect(policiesOf(agent.driver).marker(NEVER)).rejects.toThrow('not logged in');
  });
});
