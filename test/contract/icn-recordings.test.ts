/**
 * The simulator against the record of ICN's real REST: every exchange is sent to it, in order, and
 * answered alike.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../openwrt/simulator/simulator.ts';
import { comparableAnswer, createReplay } from './icn/replay.ts';
import { NOT_REPLAYED, whyNotReplayed } from './icn/differences.ts';
import { commandsOf, stateIn, stepsBefore, type Step } from './icn/notes.ts';
import { PACKAGES_OF_MORE, PACKAGES_OF_REST, USER_RULES } from './icn/rig.ts';
import { readRecording } from './recordings/read.ts';

const rest = readRecording('icn-rest');
const more = readRecording('icn-rest-more');

test('has every recorded exchange', () => {
  expect([rest.exchanges.length, more.exchanges.length]).toEqual([187, 569]);
});

describe('icn-rest', () => {
  let simulator: Simulator;
  const { exchanges } = rest;
  beforeAll(async () => {
    simulator = await startSimulator({
      apis: ['icn'],
      factory: { rootPassword: 'sdewan', packages: PACKAGES_OF_REST },
    });
  });
  afterAll(() => simulator.stop());

  const replay = createReplay(() => simulator.url);
  test.each(exchanges.map((exchange, index) => ({ ...exchange, index })))(
    '$index $name',
    async (exchange) => {
      const received = await replay(exchange);
      expect(comparableAnswer(exchange, received)).toEqual(
        comparableAnswer(exchange, exchange.response ?? { status: 0, body: '' }),
      );
    },
  );

  test('has no /ubus in an image without ubus', async () => {
    const answer = await fetch(`${simulator.url}/ubus`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(404);
  });
});

describe('icn-rest-more', () => {
  let simulator: Simulator;
  const { exchanges } = more;
  beforeAll(async () => {
    simulator = await startSimulator({
      apis: ['icn'],
      factory: { rootPassword: 'sdewan', packages: PACKAGES_OF_MORE },
      userRules: USER_RULES,
    });
  });
  afterAll(() => simulator.stop());

  const replay = createReplay(() => simulator.url);
  const replayed = exchanges.filter(({ name }) => whyNotReplayed(name) === undefined);
  test('replays all but the named exchanges', () => {
    expect(exchanges.length - replayed.length).toBe(NOT_REPLAYED);
  });
  test.each(replayed)('$name', async (exchange) => {
    const step: Step = { simulator, exchange };
    stepsBefore(step);
    const before = simulator.kernel.commands.length;
    const received = await replay(exchange);
    expect(comparableAnswer(exchange, received)).toEqual(
      comparableAnswer(exchange, exchange.response ?? { status: 0, body: '' }),
    );
    const commands = commandsOf(step, before);
    expect(commands.here).toEqual(commands.recorded);
    for (const { command, lines, here } of stateIn(step))
      expect({ command, lines: here }).toEqual({ command, lines });
  });
});
