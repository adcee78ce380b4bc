/**
 * Each alarm for its fault, and for nothing else, as Prometheus' engine evaluates it; the judge of
 * the tests that have no such engine says the same.
 */
import { beforeAll, expect, it } from 'vitest';
import { alerts } from '../../../deploy/generate/metrics.ts';
import {
  holds,
  NOTHING_SCRAPED,
  readScrape,
  type Scrape,
} from '../../openwrt/checks/prometheus.ts';
import { buildFiring, buildFiringWithin, type Firing, type FiringWithin } from './alarms.ts';
import { buildPromlint, type Promlint } from './promlint.ts';

const NOW = 1_800_000_000_000;
const MINUTE_MS = 60_000;

let firing: Firing;
let firingWithin: FiringWithin;
let promlint: Promlint;
beforeAll(async () => {
  firing = await buildFiring();
  firingWithin = await buildFiringWithin();
  promlint = await buildPromlint();
});

const cnf = 'namespace="edge",purpose="cnf-1"';
const DAY_S = 86_400;
/** Series of a coordinator with which all is well. */
const WELL: Readonly<Record<string, number>> = {
  queued_rules: 0,
  [`rules{${cnf},kind="FirewallRule",state="in_sync"}`]: 7,
  [`rules{${cnf},kind="FirewallRule",state="out_of_sync"}`]: 0,
  [`rules{${cnf},kind="FirewallRule",state="removing"}`]: 0,
  [`stalled_rules{${cnf},reason="InvalidSpec"}`]: 0,
  [`pods{${cnf},state="live"}`]: 2,
  [`pods{${cnf},state="silent"}`]: 0,
  [`pods{${cnf},state="unreachable"}`]: 0,
  [`pods{${cnf},state="without_agent"}`]: 0,
  [`drift_repairs_total{${cnf}}`]: 5,
  'reports_total{result="heartbeat"}': 70,
  'reports_total{result="old-boot"}': 3,
  'reports_total{result="bad-token"}': 2,
  'status_writes_total{result="written"}': 40,
  'status_writes_total{result="error"}': 2,
  'admission_reviews_total{webhook="rules",result="denied"}': 4,
  'admission_reviews_total{webhook="rules",result="failed"}': 3,
  certificate_expiry_timestamp_seconds: NOW / 1_000 + 30 * DAY_S,
  neutron_failing_seconds: 0,
};
const scrapeOf = (more: Readonly<Record<string, number>> = {}): Scrape =>
  readScrape(
    Object.entries(WELL)
      .map(([series, value]) => `sdewan_coordinator_${series} ${value + (more[series] ?? 0)}\n`)
      .join(''),
  );
const well = scrapeOf();

const FAULTS: readonly (readonly [
  what: string,
  more: Readonly<Record<string, number>> | undefined,
  alarm: string | undefined,
])[] = [
  ['nothing', {}, undefined],
  [
    'what every day brings',
    {
      [`rules{${cnf},kind="FirewallRule",state="in_sync"}`]: 1,
      'reports_total{result="heartbeat"}': 9,
      'reports_total{result="old-boot"}': 1,
      'status_writes_total{result="written"}': 3,
      'admission_reviews_total{webhook="rules",result="denied"}': 2,
    },
    undefined,
  ],
  ['three repairs', { [`drift_repairs_total{${cnf}}`]: 3 }, undefined],
  ['four repairs', { [`drift_repairs_total{${cnf}}`]: 4 }, 'SdewanDrift'],
  [
    'a rule out of sync',
    { [`rules{${cnf},kind="FirewallRule",state="out_of_sync"}`]: 1 },
    'SdewanRulesOutOfSync',
  ],
  [
    'a rule that does not go',
    { [`rules{${cnf},kind="FirewallRule",state="removing"}`]: 1 },
    'SdewanRemovalBlocked',
  ],
  [
    'a rule that is refused',
    { [`stalled_rules{${cnf},reason="InvalidSpec"}`]: 1 },
    'SdewanRuleStalled',
  ],
  ['a silent agent', { [`pods{${cnf},state="silent"}`]: 1 }, 'SdewanAgentSilent'],
  [
    'an OpenWRT that does not answer',
    { [`pods{${cnf},state="unreachable"}`]: 1 },
    'SdewanOpenwrtUnreachable',
  ],
  ['a pod without agent', { [`pods{${cnf},state="without_agent"}`]: 1 }, 'SdewanPodWithoutAgent'],
  ['refused reports', { 'reports_total{result="bad-token"}': 1 }, 'SdewanReportsRefused'],
  [
    'statuses that are not written',
    { 'status_writes_total{result="error"}': 1 },
    'SdewanStatusNotWritten',
  ],
  [
    'reviews that fail',
    { 'admission_reviews_total{webhook="rules",result="failed"}': 1 },
    'SdewanWebhookFailing',
  ],
  [
    'two days of a certificate',
    { certificate_expiry_timestamp_seconds: -28 * DAY_S },
    'SdewanCertificateEnds',
  ],
  ['a Neutron that fails', { neutron_failing_seconds: 9 }, 'SdewanNeutronFailing'],
  ['a coordinator that is gone', undefined, 'SdewanCoordinatorAbsent'],
];

it.each(FAULTS)('has both judges say the same by %s', (_, more, alarm) => {
  const scrapes = [well, more ? scrapeOf(more) : NOTHING_SCRAPED];
  const expected = alarm === undefined ? [] : [alarm];
  expect(firing(scrapes, NOW)).toEqual(expected);
  const held = alerts().filter(({ expr }) => holds(expr, scrapes, NOW / 1_000));
  expect(held.map(({ alert }) => alert)).toEqual(expected);
});

it('there is a fault for each alarm', () => {
  expect(
    alerts()
      .map(({ alert }) => alert)
      .toSorted(),
  ).toEqual(FAULTS.flatMap(([, , alarm]) => alarm ?? []).toSorted());
});

it('fires an alarm after as long as it says, for the same labels', () => {
  const alert = { alert: 'Silent', expr: 'sum by (pod) (silent) > 0', for: '3m' };
  const rules = JSON.stringify({ groups: [{ name: 'one', rules: [alert] }] });
  const since = (minutes: readonly number[]): string[] => {
    const series = minutes.map((from, pod) => ({
      labels: { __name__: 'silent', pod: String(pod) },
      samples: Array.from({ length: 30 }, (_, index) => [
        NOW - (29 - index) * MINUTE_MS,
        29 - index < from ? 1 : 0,
      ]),
    }));
    return promlint('firing', JSON.stringify({ rules, at: [NOW], series }));
  };
  expect(since([4])).toEqual(['Silent']);
  expect(since([3])).toEqual([]);
  // One after the other is not one for all the time.
  expect(since([3, 3])).toEqual([]);
});

it('scrapes of three minutes are judged as half an hour', () => {
  /** One each second, of which those from `from` to `to` show the fault. */
  const within = (series: string, from: number, to: number): string[] =>
    firingWithin(
      Array.from({ length: 181 }, (_, second) => ({
        at: NOW + second * 1_000,
        instance: 'a',
        scrape: second >= from && second <= to ? scrapeOf({ [series]: 1 }) : well,
      })),
    );
  const silent = `pods{${cnf},state="silent"}`;
  expect(within(silent, 60, 70)).toEqual([]);
  // Two minutes are twelve seconds, and some of what is seen at whole minutes alone.
  expect(within(silent, 60, 80)).toEqual(['SdewanAgentSilent']);
  expect(within('status_writes_total{result="error"}', 0, -1)).toEqual([]);
});
