/**
 * The simulator against the record of a real rpcd: every exchange is sent to it, in order, and
 * answered alike. What was done on the rig between the exchanges is done here, through the
 * simulator's files and clock.
 */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createManualClock } from '../openwrt/simulator/clock.ts';
import { startSimulator, type Simulator } from '../openwrt/simulator/simulator.ts';
import { CUT, readRecording, type Exchange } from './recordings/read.ts';
import { aclFilesOfApply, aclFilesOfUbus } from './ubus/acl.ts';
import { addBatch, addCall, deltaPart, DELTA_PARTS, fileWrite, filled } from './ubus/bodies.ts';
import type { Received } from './ubus/client.ts';
import { answerOf, createReplay, recordedAnswer } from './ubus/replay.ts';
import { packagesOf, rigPrograms, RPCD_OF_APPLY, RPCD_OF_UBUS } from './ubus/rig.ts';
import { generatedRules, rulesText, SECTION_KEEP, SECTION_OLD } from './ubus/rules.ts';
import { stockFirewall } from './ubus/stock-firewall.ts';

/** What stands between the exchanges: by the name of the exchange that it comes before. */
type Steps = Readonly<Record<string, () => void | Promise<void>>>;
/** The rest of a request body that the record cut, by the name of the exchange. */
type Bodies = Readonly<Record<string, (beginning: string) => string>>;

const ubus = readRecording('ubus');
const apply = readRecording('ubus-apply');

let simulator: Simulator;
const configFile = (name: string): string => `${simulator.configDirectory}/${name}`;
const setFirewall = (text: string): void => writeFileSync(configFile('firewall'), text);
const password = 'sdewan';

const wholeBody = (exchange: Exchange, bodies: Bodies): string | undefined => {
  if (exchange.request.body_truncated_from === undefined) return undefined;
  const beginning = (exchange.request.body ?? '').slice(0, -CUT.length);
  const complete = bodies[exchange.name];
  if (!complete) throw new Error(`no body for ${exchange.name}`);
  const body = complete(beginning);
  expect(body.length).toBe(exchange.request.body_truncated_from);
  return body;
};

test('has every recorded exchange', () => {
  expect([ubus.exchanges.length, apply.exchanges.length]).toEqual([241, 373]);
});

describe('ubus', () => {
  const { exchanges } = ubus;
  const clock = createManualClock();
  const stock = stockFirewall(ubus);
  let killed: Promise<Received> | undefined;
  const replay = createReplay(() => simulator);
  const killing = exchanges.find(({ name }) => name.startsWith('kill: uci get package of 5000'));

  beforeAll(async () => {
    simulator = await startSimulator({
      clock,
      factory: {
        packages: packagesOf({
          firewall: stock.withExamples,
          rpcd: RPCD_OF_UBUS,
          luciBytes: 687,
        }),
        aclFiles: aclFilesOfUbus(ubus),
        passwords: { root: password, viewer: 'viewer' },
      },
      programs: rigPrograms((count) => {
        const text = stock.withoutExamples + generatedRules(count);
        writeFileSync(configFile('bigfw'), text);
        return text.length;
      }),
    });
  });
  afterAll(() => simulator.stop());

  const steps: Steps = {
    'expired session: uci get': () => clock.advance(2_200),
    'after automatic rollback': () => clock.advance(3_000),
    // The answer that never comes is recorded at the end, when uhttpd has given up on it.
    'kill: next call while rpcd is gone': async () => {
      killed = killing && replay.exchange(killing);
      while (simulator.journal().at(-1)?.event !== 'rpcd died')
        await new Promise((resolve) => setTimeout(resolve, 5));
    },
    'kill: same session after respawn': () => clock.advance(5_000),
    [killing?.name ?? '']: () => clock.advance(60_000),
  };
  const bodies: Bodies = {
    'body of 60000 bytes': (beginning) => filled(beginning, 60_000),
    'body of 65536 bytes exactly': (beginning) => filled(beginning, 65_536),
    'body of 65537 bytes': (beginning) => filled(beginning, 65_537),
    'body of 200000 bytes': (beginning) => filled(beginning, 200_000),
    'body of 200000 bytes, Expect: 100-continue': (beginning) => filled(beginning, 200_000),
    'request after it on a new connection': (beginning) => beginning,
    'trailing garbage after object': (beginning) => beginning,
  };

  test.each(exchanges.map((exchange, index) => ({ exchange, title: `${index} ${exchange.name}` })))(
    '$title',
    async ({ exchange }) => {
      await steps[exchange.name]?.();
      const received =
        exchange === killing
          ? await killed
          : await replay.exchange(exchange, wholeBody(exchange, bodies));
      expect(answerOf(received ?? { status: 0, body: '' }, exchange)).toEqual(
        recordedAnswer(exchange),
      );
    },
  );
});

describe('ubus-apply', () => {
  const { exchanges } = apply;
  const clock = createManualClock();
  const stock = stockFirewall(ubus).withExamples;
  const replay = createReplay(() => simulator);
  let afterRound1 = '';

  beforeAll(async () => {
    simulator = await startSimulator({
      clock,
      factory: {
        packages: packagesOf({ firewall: stock, rpcd: RPCD_OF_APPLY, luciBytes: 27 }),
        aclFiles: aclFilesOfApply(apply),
        passwords: {
          root: password,
          sdewan: 'agent-pw',
          lowly: 'agent-pw',
          stock: 'agent-pw',
        },
      },
      programs: rigPrograms(() => 0),
    });
  });
  afterAll(() => simulator.stop());

  const badRule = (options: string): void =>
    setFirewall(`${stock}\nconfig rule 'sdewan_bad'\n\toption name 'bad'\n${options}`);
  const goodRule =
    "\nconfig rule 'sdewan_good'\n\toption name 'good'\n\toption src 'lan'\n\toption proto 'tcp'\n\toption dest_port '80'\n\toption target 'ACCEPT'\n";
  const toWan = (name: string, proto: string): string =>
    `\nconfig rule 'sdewan_bad'\n\toption name '${name}'\n\toption src 'lan'\n\toption dest 'wan'\n\toption proto '${proto}'\n\toption dest_port '80'\n\toption target 'DROP'\n`;
  const link = (): string => `${simulator.rootDirectory}/tmp/sdewan-firewall`;

  const steps: Steps = {
    'big: file.md5': () => setFirewall(stock + rulesText(1500)),
    'utf8: dd chunk 0 of a file with a two-byte character across the boundary': () => {
      const before = `${stock}# `;
      const filler = 'a'.repeat(131_071 - before.length);
      setFirewall(`${before}${filler}é\n${rulesText(3)}`);
    },
    'delta: file.md5 before': () => setFirewall(`${stock}${SECTION_OLD}\n${SECTION_KEEP}`),
    'round 1: confirm once more': () => {
      afterRound1 = simulator.store.text('firewall') ?? '';
    },
    'round 3: get sdewan_n2 after the time-out': () => clock.advance(4_200),
    'round 3b: get sdewan_n2 after the time-out': () => clock.advance(3_200),
    'foreign: another session stages': () => simulator.store.replace('firewall', afterRound1, RIG),
    'unparsable: uci.add seed': () => simulator.store.replace('firewall', afterRound1, RIG),
    'foreign syntax error: uci.changes': () => setFirewall(`${afterRound1}config rule 'open\n`),
    'foreign syntax error: revert once the file is good': () =>
      simulator.store.replace('firewall', afterRound1, RIG),
    'import: file.write to a temp name that is a symbolic link': () => {
      rmSync(link());
      writeFileSync(`${simulator.rootDirectory}/tmp/behind`, 'before\n');
      symlinkSync('behind', link());
    },
    'import: restore, temp file': () => rmSync(link()),
    'fw4: reload, good config': () => setFirewall(stock + goodRule),
    'fw4: reload, a rule with a bad address': () =>
      badRule("\toption src 'lan'\n\toption src_ip '10.0.0.300'\n\toption target 'DROP'\n"),
    'fw4: reload, a rule with an unknown zone': () =>
      badRule("\toption src 'nozone'\n\toption target 'DROP'\n"),
    'fw4: reload, a rule with an option fw4 does not know': () =>
      setFirewall(`${stock}${goodRule.replaceAll('good', 'desc')}\toption desc 'for people'\n`),
    'fw4: reload, good config again': () => setFirewall(stock + goodRule),
    'fw4: reload, a protocol nft refuses': () =>
      setFirewall(stock + toWan('np', 'nosuch').replace(/\toption dest_port.*\n/, '')),
    'fw4: reload, a name too long for a comment': () =>
      setFirewall(stock + toWan('x'.repeat(140), 'tcp')),
    'fw4: reload, a device name too long': () =>
      setFirewall(
        `${stock}\nconfig zone 'sdewan_zl'\n\toption name 'zl'\n\tlist device 'averyveryverylongname'\n\toption input 'REJECT'\n\toption output 'ACCEPT'\n\toption forward 'REJECT'\n`,
      ),
    'fw4: reload, a name with quotes and a newline': () =>
      setFirewall(stock + toWan('a "q"\nb', 'tcp')),
    'fw4: reload, good config at the end': () =>
      simulator.store.replace('firewall', afterRound1, RIG),
    'fw4: reload with 1500 rules': () => setFirewall(stock + rulesText(1500)),
    'refused: uci commit': () => simulator.store.replace('firewall', afterRound1, RIG),
    'lowly: login': () => setFirewall(stock),
    'lowly: changes after the time-out': () => clock.advance(2_200),
    'lowly: stage 25 sections, round 1 (stock package)': () => setFirewall(stock),
    'lowly: stage 25 sections, round 1 (package of 1500 other rules)': () =>
      setFirewall(stock + rulesText(1500).replaceAll('sdewan_', 'other_')),
    'lowly: uci.add one by one 1 of 25': () => setFirewall(stock),
    'lowly: uci.add one by one 25 of 25': addTheOthers,
    '1500: uci.add seed': () => setFirewall(stock),
  };

  /** The record shows the first and the last of 25 calls. */
  async function addTheOthers(): Promise<void> {
    const first = exchanges.find(({ name }) => name === 'lowly: uci.add one by one 1 of 25');
    if (!first) return;
    for (let index = 1; index < 24; index += 1) {
      const body = addCall(first.request.body ?? '', index);
      await replay.exchange({ ...first, request: { ...first.request, body } });
    }
  }

  const parts = Object.fromEntries(
    Array.from({ length: DELTA_PARTS }, (_, part) => [
      `1500: file.write the delta, part ${part + 1} of ${DELTA_PARTS}`,
      deltaPart(part),
    ]),
  );
  const batches = Object.fromEntries(
    ['stock package', 'package of 1500 other rules'].flatMap((where) =>
      [1, 2, 3, 4].map((round) => [
        `lowly: stage 25 sections, round ${round} (${where})`,
        (beginning: string) => addBatch(beginning, (round - 1) * 25),
      ]),
    ),
  );
  const bodies: Bodies = {
    ...parts,
    ...batches,
    'import: restore, temp file': (beginning) =>
      fileWrite(Buffer.from(afterRound1, 'latin1').toString('utf8'), ', "mode": 384}]}')(beginning),
    '1500: remove all, file.write': fileWrite(
      Array.from({ length: 1500 }, (_, index) => `-firewall.sdewan_${index}\n`).join(''),
    ),
  };

  test.each(exchanges.map((exchange, index) => ({ exchange, title: `${index} ${exchange.name}` })))(
    '$title',
    async ({ exchange }) => {
      await steps[exchange.name]?.();
      const received = await replay.exchange(exchange, wholeBody(exchange, bodies));
      expect(answerOf(received, exchange)).toEqual(recordedAnswer(exchange));
    },
  );
});

/** A hand on the rig itself. */
const RIG = { call: 'rig' };
