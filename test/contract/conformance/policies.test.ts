/**
 * The table of policies in the kernel of a real OpenWRT, through its rpcd, with the rights of a
 * login that the agent makes itself: written in parts, loaded by nft in one transaction, read back,
 * and loaded again after it was taken away. Needs a device that can be looked into.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { policyTable, type PolicyTable, type TableEntry } from '#shared/policy/nft-table.ts';
import type { DeviceCounters } from '#shared/protocol/counters.ts';
import type { AddressGroup } from '#shared/resources/other-kinds/address-group.ts';
import type { PolicyEnforcement } from '#shared/resources/other-kinds/policy-enforcement.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { Driver, Policies } from '../../../agent/openwrt/driver.ts';
import { createDenials } from '../../../agent/network-policy/denials.ts';
import { createPolicyLoop } from '../../../agent/network-policy/loop.ts';
import { deviceCountersIn } from '../../../agent/report/counters.ts';
import { NEVER } from './bench.ts';
import { namedDevice } from './named-device.ts';
import { PUT_HELPER, REMOVE_HELPER } from './own-helper.ts';
import { ubusDriver } from './simulated.ts';
import { recordedPath } from './stage.ts';

const given = namedDevice();
const devices = given?.inside && recordedPath(given) === 'ubus-fast' ? [given] : [];

const TABLE = 'inet sdewan_policy';
const GROUP = { pods: '0'.repeat(16), clients: '1'.repeat(16) };

const trafficOf = z.object({ bytes: z.number(), packets: z.number(), dropped: z.number() });
const linksSchema = z.array(
  z.object({
    ifname: z.string(),
    stats64: z.object({
      rx: trafficOf.extend({ missed_errors: z.number().default(0) }),
      tx: trafficOf,
    }),
  }),
);
/** What `ip -s` shows, as the agent says it. */
const countedByIp = (json: string): DeviceCounters[] =>
  linksSchema.parse(JSON.parse(json)).map(({ ifname: name, stats64: { rx, tx } }) => ({
    name,
    rxBytes: rx.bytes,
    rxPackets: rx.packets,
    rxDropped: rx.dropped + rx.missed_errors,
    txBytes: tx.bytes,
    txPackets: tx.packets,
    txDropped: tx.dropped,
  }));

const many = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `10.7.${at >> 8}.${at & 255}`);
const entry = (id: string): TableEntry => ({
  id,
  title: `ns/${id}`,
  enforcement: {
    pods: GROUP.pods,
    ingress: [{ peers: [{ group: GROUP.clients }], ports: [{ protocol: 'TCP', port: 80 }] }],
    egress: [{ peers: [{ cidr: '0.0.0.0/0', except: ['10.0.0.0/8', '172.16.0.0/12'] }] }],
  },
});
const tableOf = (clients: readonly string[], ids = ['web']): PolicyTable =>
  policyTable(ids.map(entry), (id) => (id === GROUP.pods ? ['10.8.0.1', 'fd00::1'] : clients));

const meta = (name: string) => ({
  name,
  namespace: 'ns',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 1,
});
const groupOf = (group: string, members: string[]): AddressGroup => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'AddressGroup',
  metadata: meta(group),
  spec: { group, slice: 0, members },
});
const enforcementOf = (name: string, sctpPort: number): PolicyEnforcement => ({
  apiVersion: 'network.sdewan.akraino.org/v1alpha1',
  kind: 'PolicyEnforcement',
  metadata: meta(name),
  spec: {
    policy: { namespace: 'apps', name, uid: name, generation: 1 },
    place: 'cluster',
    pods: GROUP.pods,
    isolates: ['ingress'],
    lines: [{ direction: 'ingress', group: GROUP.clients, protocol: 'SCTP', port: sctpPort }],
    exceptions: [],
  },
});

const isEth0 = ({ name }: DeviceCounters): boolean => name === 'eth0';

describe.each(devices)('on the OpenWRT at $url', ({ url, user, passwordFile, inside, peer }) => {
  const run = inside ?? (() => '');
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-policies-'));
  const usernameFile = join(folder, 'username');
  let driver: Driver;
  let policies: Policies;
  const listed = (): string => run(`nft list table ${TABLE} 2>/dev/null || true\n`);

  beforeAll(async () => {
    run(PUT_HELPER);
    writeFileSync(usernameFile, user);
    driver = ubusDriver({ url, usernameFile, passwordFile }, systemClock);
    // The agent does not log in for policies alone.
    await driver.read(NEVER);
    const found = driver.policies?.();
    if (found === undefined) throw new Error('the driver has no policies');
    policies = found;
  });
  afterAll(async () => {
    await policies.load(undefined, undefined, NEVER);
    await driver.close();
    run(REMOVE_HELPER);
    // `nft flush ruleset` takes mwan3's chains as well, which mwan3 alone makes again.
    run('! test -x /etc/init.d/mwan3 || /etc/init.d/mwan3 restart >/dev/null 2>&1\n');
    rmSync(folder, { recursive: true });
  });

  it('loads a table and recognises it, and fw4 leaves it alone', async () => {
    const table = tableOf(['10.7.0.9']);
    expect(await policies.load(table, undefined, NEVER)).toEqual({ outcome: 'loaded' });
    const before = listed();
    expect(before).toContain('comment "ns/web"');
    expect(before).toContain('elements = { 10.7.0.9 }');
    run('fw4 -q reload; fw4 -q restart\n');
    expect(await policies.marker(NEVER)).toEqual({ marker: table.hash });
    expect(listed()).toBe(before);
  });

  it('changes a set alone for one member more', async () => {
    const before = tableOf(['10.7.0.9']);
    const after = tableOf(['10.7.0.9', '10.7.0.10']);
    expect(await policies.load(after, before, NEVER)).toEqual({ outcome: 'loaded' });
    expect(listed()).toContain('10.7.0.10');
  });

  it('five thousand members are written in parts, and read back in blocks', async () => {
    const before = tableOf(many(5_000));
    expect(await policies.load(before, undefined, NEVER)).toEqual({ outcome: 'loaded' });
    const after = tableOf(many(4_999));
    expect(await policies.load(after, before, NEVER)).toEqual({ outcome: 'loaded' });
    expect(await policies.marker(NEVER)).toEqual({ marker: after.hash });
  });

  it('loads a hundred policies with a thousand members in one transaction', async () => {
    const ids = Array.from({ length: 100 }, (_, at) => `p${at}`);
    expect(await policies.load(tableOf(many(1_000), ids), undefined, NEVER)).toEqual({
      outcome: 'loaded',
    });
    expect(listed().match(/comment "ns\/p\d+"/g)).toHaveLength(200);
  });

  it('counters may be read, those alone that have counted something', async () => {
    expect(await policies.denied(NEVER)).toEqual(new Map());
    run("nft add counter inet sdewan_policy in_counted '{ packets 7 bytes 420; }'\n");
    expect(await policies.denied(NEVER)).toEqual(new Map([['in_counted', 7]]));
  });

  it.runIf(peer)(
    'counts the packets that it denies, and those of devices, as nft and ip do',
    async () => {
      const sent = { ...entry('sent'), enforcement: { pods: GROUP.pods, egress: [] } };
      const table = policyTable([sent], () => ['192.168.1.2']);
      expect(await policies.load(table, undefined, NEVER)).toEqual({ outcome: 'loaded' });
      const denials = createDenials();
      denials.begin([sent]);
      const eth0 = () => deviceCountersIn(run('cat /proc/net/dev\n')).find(isEth0);
      const before = eth0();
      const PINGS = 5;
      // What a pod behind the CNF sends to a network beyond it.
      peer?.(
        `ip route replace 10.99.0.0/24 via 192.168.1.1\nping -c ${PINGS} -i 0.2 -W 1 10.99.0.1 || true\nip route del 10.99.0.0/24\n`,
      );
      const counters = await policies.denied(NEVER);
      if (counters) denials.add(counters);
      expect(denials.all()).toEqual([{ policy: 'ns/sent', direction: 'egress', packets: PINGS }]);
      expect(run(`nft list counters table ${TABLE}\n`)).toContain(`packets ${PINGS} `);
      expect(eth0()?.rxPackets).toBeGreaterThanOrEqual((before?.rxPackets ?? Infinity) + PINGS);
      const look = 'ip -s -j link';
      const [one = '', file = '', other = ''] = run(
        `${look}; echo ===; cat /proc/net/dev; echo ===; ${look}\n`,
      ).split('===');
      const [least, most] = [countedByIp(one), countedByIp(other)];
      const found = deviceCountersIn(file);
      expect(found.map(({ name }) => name)).toContain('eth0');
      for (const { name, ...counted } of found)
        for (const [what, count] of Object.entries(counted)) {
          const of = (links: readonly DeviceCounters[]) => links.find((link) => link.name === name);
          expect(count).toBeGreaterThanOrEqual(Object(of(least))[what]);
          expect(count).toBeLessThanOrEqual(Object(of(most))[what]);
        }
    },
  );

  it('changes nothing for what nft refuses, or is only tried out', async () => {
    const kept = tableOf(['10.7.0.9']);
    await policies.load(kept, undefined, NEVER);
    const before = listed();
    const wrong = { ...kept, chains: kept.chains.replace('jump in_web', 'jump in_nobody') };
    expect(await policies.load(wrong, undefined, NEVER)).toMatchObject({ outcome: 'refused' });
    expect(await policies.tryOut(wrong, NEVER)).toMatchObject({ outcome: 'refused' });
    expect(await policies.tryOut(tableOf(many(1_000)), NEVER)).toEqual({ outcome: 'loaded' });
    expect(listed()).toBe(before);
    expect(run('nft list tables\n')).not.toContain('trial');
  });

  it.each([
    'fw4 -q flush',
    'nft flush ruleset',
    `nft delete table ${TABLE}`,
    `nft delete table ${TABLE}_rev`,
  ])(
    'has the table loaded again after `%s`, and counted; one policy that nft refuses is not among it',
    async (harm) => {
      const stop = new AbortController();
      let drifts = 0;
      const keeper = createPolicyLoop({
        source: {
          enforcements: () => [enforcementOf('right', 80), enforcementOf('wrong', 70_000)],
          groups: () => [groupOf(GROUP.pods, ['10.8.0.1']), groupOf(GROUP.clients, ['10.7.0.1'])],
          isKnown: () => true,
        },
        policies: () => policies,
        isReached: () => true,
        paused: () => false,
        onChange: () => undefined,
        onDrift: () => (drifts += 1),
        onLoaded: () => undefined,
        denials: createDenials(),
        clock: systemClock,
        log: silentLogger,
      });
      const running = keeper.run(stop.signal);
      const states = () =>
        keeper.reports({ reading: 'holds', problem: '' }).map(({ reason }) => reason);
      await expect.poll(states, { timeout: 20_000 }).toEqual(['Applied', 'RefusedByOpenwrt']);
      const before = listed();
      expect(before).toContain('comment "apps/right"');
      run(`${harm}; fw4 -q restart\n`);
      await expect.poll(() => drifts, { timeout: 20_000 }).toBe(1);
      await expect.poll(listed, { timeout: 20_000 }).toBe(before);
      await expect.poll(states, { timeout: 20_000 }).toEqual(['Applied', 'RefusedByOpenwrt']);
      stop.abort();
      await running;
    },
  );
});
