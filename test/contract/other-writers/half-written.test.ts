/** A file that is written in place is empty, then half, then whole, and its text does not tell. */
import { afterEach, describe, expect, it } from 'vitest';
import { ADMIN, AFTER, BEFORE, openBench, OURS, type Bench } from './bench.ts';

let bench: Bench;
afterEach(() => bench.stop());

/** Some 40 ms for the package: an editor on a busy device, or a copy over a network. */
const slow = () => openBench(() => ({ writeMsPerKilobyte: 20 }));

describe('a package that is being written', () => {
  it('does not count as its contents: nothing is found missing, repaired or adopted', async () => {
    bench = await slow();
    const { clock, openwrt, agent, converge, again, together } = bench;
    const text = ADMIN + openwrt.text('firewall');
    for (let atMs = 0.5; atMs < 60; atMs += 4) {
      await again();
      const before = { writes: openwrt.writes('uci apply'), drift: agent.driftRepairs() };
      await together(
        openwrt.simulator.edit('firewall', text),
        clock.agent.sleep(atMs).then(() => converge(BEFORE)),
      );
      expect(openwrt.text('firewall'), `a pass after ${atMs} ms`).toBe(text);
      const after = { writes: openwrt.writes('uci apply'), drift: agent.driftRepairs() };
      expect(after, `a pass after ${atMs} ms`).toEqual(before);
    }
  });

  it('is changed when it is whole, and nothing of it is lost', async () => {
    bench = await slow();
    const { clock, converge, again, together, ours, foreign, byEditor } = bench;
    const others = foreign();
    for (let atMs = 0.5; atMs < 60; atMs += 4) {
      await again();
      await together(
        byEditor(),
        clock.agent.sleep(atMs).then(() => converge(AFTER)),
      );
      await together(converge(AFTER));
      expect(ours(), `a pass after ${atMs} ms`).toEqual(OURS);
      const admin = expect.objectContaining({ name: 'admin' });
      expect(foreign(), `a pass after ${atMs} ms`).toEqual([...others, admin]);
    }
  });
});
