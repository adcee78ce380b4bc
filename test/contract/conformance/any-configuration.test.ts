/**
 * An administrator writes whole configurations, in all spellings, into the OpenWRT that the run was
 * given, one after the other. Each time the agent judges every rule: none waits without a word, and
 * what the kernel has is in sync. `--walk N` says how many.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { revisionOf } from '#shared/compile/revision.ts';
import { SEED } from '#shared/runtime/testing.ts';
import { formatPackage } from '#shared/uci/format.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configurations, sound, soundRoute } from '../agent/support/configurations.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, recordedPath, type Stage } from './stage.ts';

const CONFIGURATIONS = Number(process.env['OPENWRT_WALK'] ?? 0);
const BETWEEN_LOOKS_MS = 500;
/** What the administrator has written is in force, and was looked at. */
const PATIENCE_MS = 60_000;
/** netifd takes the devices of the test itself down with their interfaces. */
const NOT_TOUCHED = new Set(['interface', 'device', 'globals', 'defaults', 'alias']);

const given = namedDevice();
const devices =
  given?.inside && CONFIGURATIONS > 0 ? [{ device: given, inside: given.inside }] : [];

describe.each(devices)('$device.url with configurations of others', ({ device, inside }) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await onDevice(device);
  });
  afterAll(() => stage.leave());

  it(`${CONFIGURATIONS} of them: each rule is judged, and what the kernel has is in sync`, async () => {
    const maySee = recordedPath(device) === 'ubus-fast';
    const all = fc.sample(configurations, { numRuns: CONFIGURATIONS, seed: SEED });
    let rules = sound;
    const agent = stage.pass.follow(() => rules);
    const names = ['firewall', 'network', 'mwan3', 'ipsec'];
    const before = new Map(names.map((name) => [name, stage.hands.text(name)]));
    const wrong: string[] = [];
    const judged = () => {
      const reports = new Map(stage.pass.reports().map((report) => [report.uid, report]));
      return rules.flatMap((rule) => {
        const { revision, state, reason, message } = reports.get(rule.metadata.uid) ?? {};
        const isSaid = revision === revisionOf(rule) && reason !== 'Applying';
        const isWrong = rule === soundRoute && maySee && reason !== 'Applied';
        return isSaid && !isWrong
          ? []
          : [`${rule.kind} ${rule.metadata.name}: ${state} ${reason} ${message}`];
      });
    };
    for (const [at, { foreign, rules: stored }] of all.entries()) {
      rules = [...sound, ...stored];
      for (const name of names) {
        const sections = foreign
          .filter(
            ({ uciPackage, section }) => uciPackage === name && !NOT_TOUCHED.has(section.type),
          )
          .map(({ section }) => section);
        const text = formatPackage({ name, sections }).replace(/^package .*\n/, '');
        stage.hands.write(name, `${before.get(name) ?? ''}\n${text}`);
      }
      inside(
        'for one in network firewall mwan3; do /etc/init.d/$one reload; done >/dev/null 2>&1; true\n',
      );
      agent.mark();
      const patience = AbortSignal.timeout(PATIENCE_MS);
      let found = judged();
      do {
        await sleep(BETWEEN_LOOKS_MS);
        found = judged();
      } while (found.length > 0 && !patience.aborted);
      wrong.push(...found.map((problem) => `${at}: ${problem}`));
      if (found.length > 0) console.log(at, found, JSON.stringify(foreign));
    }
    rules = [];
    for (const [name, text] of before) stage.hands.write(name, text);
    await agent.stop();
    expect(wrong).toEqual([]);
  }, 7_200_000);
});
