/** The evaluator of alarms, compared with what Prometheus documents. */
import { describe, expect, it } from 'vitest';
import { holds, readScrape } from './prometheus.ts';

const NOW = 1_000_000;
const scrape = (...lines: string[]) =>
  readScrape(['# HELP m What it is.', ...lines, ''].join('\n'));

describe('an expression', () => {
  it.each<[string, string[], boolean]>([
    ['absent(m)', [], true],
    ['absent(m)', ['m 0'], false],
    ['m == 0', ['m 0'], true],
    ['m == 0', [], false],
    ['m{a="1"} > 0', ['m{a="2"} 5'], false],
    ['m{a="1"} > 0', ['m{a="1",b="2"} 5'], true],
    ['m >= 2', ['m 2'], true],
    ['m >= 2', ['m 1'], false],
    ['sum(m{a="1"}) > 2', ['m{a="1",b="1"} 1', 'm{a="1",b="2"} 2'], true],
    ['sum by (b) (m{a="1"}) > 2', ['m{a="1",b="1"} 1', 'm{a="1",b="2"} 2'], false],
    ['sum without (b) (m) > 2', ['m{a="1",b="1"} 1', 'm{a="1",b="2"} 2'], true],
    ['sum without (b) (m) > 2', ['m{a="1",b="1"} 1', 'm{a="2",b="2"} 2'], false],
    ['m - time() < 60', [`m ${NOW + 59}`], true],
    ['m - time() < 60', [`m ${NOW + 60}`], false],
  ])('%s over %j holds: %s', (expression, lines, expected) => {
    expect(holds(expression, [scrape(...lines)], NOW)).toBe(expected);
  });

  it.each<[string, string[], string[], boolean]>([
    ['sum(increase(m[5m])) > 0', ['m 3'], ['m 3'], false],
    ['sum(increase(m[5m])) > 0', ['m 3'], ['m 4'], true],
    ['sum(increase(m[5m])) > 0', [], ['m 4'], false],
    ['sum(increase(m{a!~"x|y"}[5m])) > 0', ['m{a="x"} 1', 'm{a="z"} 1'], ['m{a="x"} 2'], false],
    ['sum(increase(m{a!~"x|y"}[5m])) > 0', ['m{a="xy"} 1'], ['m{a="xy"} 2'], true],
  ])('%s from %j to %j holds: %s', (expression, before, after, expected) => {
    expect(holds(expression, [scrape(...before), scrape(...after)], NOW)).toBe(expected);
  });

  it.each(['m', 'rate(m[5m]) > 0', 'm > 0 and m > 1', 'm{a=~"x"} > 0'])(
    'of another form is refused: %s',
    (expression) => {
      expect(() => holds(expression, [scrape('m 1')], NOW)).toThrow('no such form');
    },
  );
});
