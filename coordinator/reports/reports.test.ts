import { beforeEach, describe, expect, it } from 'vitest';
import type { Report, RuleReport } from '#shared/protocol/report.ts';
import { NOW, SILENT_AFTER, sentReport } from '../testing/facts.ts';
import { Reports, upKey, type Acceptance } from './reports.ts';

const pod = 'pod-1';
const BOOT = 'boot-0001';

const said = (uid: string, changes: Partial<RuleReport> = {}): RuleReport => ({
  kind: 'FirewallRule',
  name: uid,
  uid,
  generation: 1,
  revision: 'r1',
  state: 'Applied',
  reason: 'Applied',
  message: '',
  ...changes,
});

const page = (sequence: number, changes: Partial<Report> = {}): Report =>
  sentReport({ bootId: BOOT, sequence, rules: [said('a'), said('b')], ...changes });

const at = (ms: number) => ({ monotonic: ms, wall: NOW + ms });

let reports: Reports;
const accept = (report: Report, ms = report.sequence * 1_000, from = pod): Acceptance =>
  reports.accept(from, report, at(ms));

beforeEach(() => {
  reports = new Reports({ silentAfterMs: SILENT_AFTER });
  accept(page(1));
});

it('names the rules whose state is new in a report', () => {
  const changed = page(2, { rules: [said('a', { message: 'other words' }), said('c')] });
  expect(accept(changed)).toEqual({
    outcome: 'news',
    rules: new Set(['a', 'b', 'c']),
    whole: false,
    drifts: [],
  });
  expect(accept({ ...changed, sequence: 3 })).toEqual({ outcome: 'heartbeat' });
});

it('names what was put back since the report before, in a heartbeat as well', () => {
  const drift = (at: number, uid = 'a') => ({ package: 'firewall', section: 's', uid, at });
  const beat = (sequence: number, ...drifts: ReturnType<typeof drift>[]) =>
    accept(page(sequence, { repeats: 1, rules: [], drifts }));
  expect(beat(2, drift(5))).toMatchObject({ rules: new Set(['a']), drifts: [drift(5)] });
  expect(beat(3, drift(5))).toEqual({ outcome: 'heartbeat' });
  expect(accept(page(4, { repeats: 1, rules: [] }))).toEqual({ outcome: 'heartbeat' });
  expect(beat(5, drift(5), drift(6, 'b'))).toMatchObject({ drifts: [drift(6, 'b')] });
  expect(accept(page(6, { drifts: [drift(7)] }))).toMatchObject({ rules: new Set(['a']) });
});

it('counts the first report of a pod for all its rules', () => {
  expect(accept(page(1), 0, 'pod-2')).toMatchObject({
    outcome: 'news',
    whole: true,
  });
});

describe('a heartbeat', () => {
  it('needs no rules when it repeats the last full report', () => {
    expect(accept(page(2, { repeats: 1, rules: [] }))).toEqual({ outcome: 'heartbeat' });
    expect(accept(page(3, { repeats: 1, rules: [] }))).toEqual({ outcome: 'heartbeat' });
    expect(reports.of('pod-1')?.rules.size).toBe(2);
    expect(reports.of('pod-1')?.receivedAt).toEqual(at(3_000));
  });

  it('asks for all when it repeats something unknown', () => {
    expect(accept(page(2, { repeats: 0, rules: [] }))).toEqual({ outcome: 'unknown-base' });
    const stranger = 'pod-2';
    expect(accept(page(2, { repeats: 1, rules: [] }), 0, stranger)).toEqual({
      outcome: 'unknown-base',
    });
    expect(reports.of('pod-2')).toBeUndefined();
  });

  it('shows when a change concerns all rules', () => {
    const openwrt = { reachable: false, driver: 'ubus', message: 'refused', driftRepairs: 0 };
    const news = { outcome: 'news', rules: new Set(), whole: true, drifts: [] };
    expect(accept(page(2, { repeats: 1, rules: [], openwrt }))).toEqual(news);
    expect(accept(page(3, { repeats: 1, rules: [], openwrt }))).toEqual({ outcome: 'heartbeat' });
    const unwatchedKinds = ['FirewallZone'];
    expect(accept(page(4, { repeats: 1, rules: [], openwrt, unwatchedKinds }))).toEqual(news);
  });

  it('can withdraw what was reported of OpenWRT, and restore it', () => {
    const news = { outcome: 'news', rules: new Set(), whole: true, drifts: [] };
    expect(accept(page(2, { repeats: 1, rules: [], doubt: 'no answer' }))).toEqual(news);
    expect(reports.of('pod-1')?.doubt).toBe('no answer');
    expect(accept(page(3, { repeats: 1, rules: [], doubt: '' }))).toEqual(news);
    expect(accept(page(4, { repeats: 1, rules: [] }))).toEqual({ outcome: 'heartbeat' });
  });

  it('does not change the time since when something is so', () => {
    accept(page(2));
    expect(reports.of('pod-1')?.rules.get('a')?.since).toBe(NOW + 1_000);
    accept(page(3, { rules: [said('a', { generation: 2, revision: 'r2' })] }));
    expect(reports.of('pod-1')?.rules.get('a')?.since).toBe(NOW + 3_000);
  });
});

describe('a report of changes', () => {
  const changes = (sequence: number, more: Partial<Report>): Report =>
    reports.completed(pod, page(sequence, { rules: [], ...more }));

  it('names the rules that it brings and those that it takes away, and keeps the others', () => {
    const changed = changes(2, { repeats: 1, rules: [said('c')], gone: ['b'] });
    expect(accept(changed)).toMatchObject({ outcome: 'news', rules: new Set(['b', 'c']) });
    expect([...(reports.of(pod)?.rules.keys() ?? [])]).toEqual(['a', 'c']);
    expect(reports.of(pod)?.rules.get('a')?.since).toBe(NOW + 1_000);
    expect(accept(changes(3, { repeats: 2, rules: [] }))).toEqual({ outcome: 'heartbeat' });
  });

  it.each([
    ['another report', page(2, { repeats: 0, rules: [said('c')] })],
    ['one of another boot', page(2, { bootId: 'boot-0002', repeats: 1, rules: [said('c')] })],
  ])('asks for all when it is about %s', (_what, report) => {
    expect(accept(reports.completed(pod, report))).toEqual({ outcome: 'unknown-base' });
    expect([...(reports.of(pod)?.rules.keys() ?? [])]).toEqual(['a', 'b']);
  });
});

describe('order', () => {
  it('keeps a later report when an earlier one comes', () => {
    accept(page(3));
    expect(accept(page(2, { rules: [] }))).toEqual({ outcome: 'stale' });
    expect(accept(page(3, { rules: [] }))).toEqual({ outcome: 'stale' });
    expect(reports.of('pod-1')?.rules.size).toBe(2);
  });

  it('eight earlier boots are remembered', () => {
    for (let boot = 2; boot <= 10; boot += 1) accept(page(boot, { bootId: `boot-${boot}` }));
    expect(accept(page(11, { bootId: 'boot-2' }))).toEqual({ outcome: 'old-boot' });
    expect(accept(page(12)).outcome).not.toBe('old-boot');
  });

  it('refuses an earlier boot once a later one has reported', () => {
    expect(accept(page(0, { bootId: 'boot-0002' }), 2_000)).toMatchObject({ whole: true });
    expect(accept(page(99, { rules: [] }))).toEqual({ outcome: 'old-boot' });
    expect(reports.of('pod-1')?.bootId).toBe('boot-0002');
  });
});

describe('pages', () => {
  const pages = [0, 1, 2].map((number) =>
    page(2, { page: number, pages: 3, rules: [said(`p${number}`)] }),
  );

  it('take effect together, in whatever order they come', () => {
    const [first, second, third] = pages;
    expect(accept(third!)).toEqual({ outcome: 'partial' });
    expect(accept(first!)).toEqual({ outcome: 'partial' });
    expect(accept(first!)).toEqual({ outcome: 'partial' });
    expect(reports.of('pod-1')?.rules.has('p0')).toBe(false);
    expect(accept(second!)).toMatchObject({ outcome: 'news' });
    expect([...(reports.of('pod-1')?.rules.keys() ?? [])].sort()).toEqual(['p0', 'p1', 'p2']);
  });

  it('are ignored in an outdated report', () => {
    accept(pages[0]!);
    expect(accept(page(3, { page: 1, pages: 2, rules: [said('x')] }))).toEqual({
      outcome: 'partial',
    });
    expect(accept(pages[1]!)).toEqual({ outcome: 'stale' });
    expect(accept(page(3, { page: 0, pages: 2, rules: [said('y')] }))).toMatchObject({
      outcome: 'news',
      rules: new Set(['a', 'b', 'x', 'y']),
    });
  });
});

describe('silence', () => {
  it('is noticed once, and any report ends it', () => {
    expect(reports.newlySilent(1_000 + SILENT_AFTER)).toEqual([]);
    expect(reports.newlySilent(1_001 + SILENT_AFTER)).toEqual(['pod-1']);
    expect(reports.newlySilent(1_002 + SILENT_AFTER)).toEqual([]);
    const late = page(2, { repeats: 1, rules: [] });
    expect(accept(late, 2_000 + SILENT_AFTER)).toMatchObject({ outcome: 'news', whole: true });
    expect(reports.newlySilent(3_000 + 2 * SILENT_AFTER)).toEqual(['pod-1']);
  });
});

it('forgets a pod that is gone', () => {
  reports.forget('pod-1');
  expect(reports.of('pod-1')).toBeUndefined();
  expect(reports.size).toBe(0);
});

it('knows since when a WAN and a tunnel are as they are, whatever else is reported', () => {
  const informed = (up: boolean, ms: number, status = 'online') =>
    reports.inform(
      pod,
      {
        interfaces: [],
        routes: [],
        wans: [{ interface: 'net2', up, status }],
        tunnels: [{ name: 'hub-main', up: true, state: 'ESTABLISHED' }],
        leftOut: 0,
      },
      at(ms),
    );
  const since = (what: 'wan' | 'tunnel', name: string, up: boolean) =>
    (reports.informationOf(pod)?.upSince.get(upKey(what, name, up)) ?? 0) - NOW;
  informed(true, 1_000);
  informed(true, 2_000, 'connecting');
  expect(since('wan', 'net2', true)).toBe(1_000);
  informed(false, 3_000);
  informed(true, 4_000);
  expect(since('wan', 'net2', true)).toBe(4_000);
  expect(since('tunnel', 'hub-main', true)).toBe(1_000);
});
