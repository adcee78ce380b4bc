/**
 * Random changes on the device that the run was given: rules of all kinds come, change and go,
 * mwan3, firewall, routes and IPsec together. After each, files, kernel and statuses must agree, by
 * readers that are not the product's. `--walk N` says how many.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revisionOf } from '#shared/compile/revision.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { allSamples } from '../../samples/all.ts';
import { randomOfTest } from '../../run/random.ts';
import { readKernelRecording, writeKernelRecording } from './kernel-recording.ts';
import { lifeRules, referredBy } from './lives.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, recordedPath, type Stage } from './stage.ts';

/** Kinds that are there, as created or as changed. */
type Fixture = ReadonlyMap<string, 'created' | 'changed'>;
type Change = { kind: string; to: 'created' | 'changed' | 'deleted' };

const CHANGES = Number(process.env['OPENWRT_WALK'] ?? 0);
/**
 * What is taken out of the kernel is back within five seconds; on a busy machine that takes longer.
 */
const PATIENCE_MS = 45_000;
const BETWEEN_LOOKS_MS = 300;

const kinds = allSamples.map(({ kind }) => kind);

/** None that would leave a rule without what it refers to. */
const possible = (fixture: Fixture): Change[] =>
  kinds.flatMap((kind): Change[] => {
    const is = fixture.get(kind);
    const isReady = referredBy(kind).every((one) => fixture.has(one));
    if (is === undefined) return isReady ? [{ kind, to: 'created' }] : [];
    const isInUse = [...fixture.keys()].some((other) => referredBy(other).includes(kind));
    const next: Change = { kind, to: is === 'created' ? 'changed' : 'created' };
    return isInUse ? [next] : [next, { kind, to: 'deleted' }];
  });

const after = (fixture: Fixture, { kind, to }: Change): Fixture => {
  const next = new Map(fixture);
  if (to === 'deleted') next.delete(kind);
  else next.set(kind, to);
  return next;
};

const given = namedDevice();
const devices = given?.inside && CHANGES > 0 ? [{ device: given, path: recordedPath(given) }] : [];

describe.each(devices)('a walk on $device.url, $path', ({ device, path }) => {
  const recording = readKernelRecording(path);
  let stage: Stage;
  let rules: readonly RuleObject[] = [];
  beforeAll(async () => {
    stage = await onDevice(device);
  });
  afterAll(() => stage.leave());

  /** Lines of files that a rule adds by itself. */
  const linesOf = (kind: string, is: 'created' | 'changed'): string[] => {
    const { shownBy } = allSamples.find((one) => one.kind === kind)?.kernel ?? {};
    const others = new Set(shownBy === undefined ? [] : linesOf(shownBy, 'created'));
    return (recording?.kinds[kind]?.[is].files.added ?? []).filter((line) => !others.has(line));
  };

  const inFiles = (fixture: Fixture, before: readonly string[]): string[] => {
    const wanted = new Set([...before, ...[...fixture].flatMap(([kind, is]) => linesOf(kind, is))]);
    const now = new Set(stage.files());
    return [
      ...[...wanted].filter((line) => !now.has(line)).map((line) => `not in files: ${line}`),
      ...[...now].filter((line) => !wanted.has(line)).map((line) => `left in files: ${line}`),
    ];
  };

  const inKernel = (fixture: Fixture): string[] => {
    const lines = stage.kernel?.() ?? [];
    return allSamples.flatMap(({ kind, kernel }) => {
      const is = fixture.get(kind);
      // Its lines are those of what it is shown by.
      if (kernel.shownBy !== undefined && !fixture.has(kernel.shownBy)) return [];
      const wanted = is === undefined ? [] : kernel.fw4[is];
      const other = kernel.fw4[is === 'created' ? 'changed' : 'created'];
      const stale = lines.filter((line) => other.some((one) => one.test(line)));
      return [
        ...wanted
          .filter((one) => !lines.some((line) => one.test(line)))
          .map((one) => `${kind} not in the kernel: ${one.source}`),
        ...stale
          .filter((line) => !wanted.some((one) => one.test(line)))
          .map((line) => `${kind} left in the kernel: ${line}`),
      ];
    });
  };

  const inStatuses = (): string[] => {
    const reports = new Map(stage.pass.reports().map((report) => [report.uid, report]));
    return rules.flatMap((rule) => {
      const { uid, deletionTimestamp } = rule.metadata;
      const expected = deletionTimestamp === undefined ? 'Applied' : 'Removed';
      const report = reports.get(uid);
      if (report?.revision !== revisionOf(rule)) return [`${rule.kind} says nothing yet`];
      const { state, reason, message } = report;
      // Not `AppliedInFiles`: the agent must look into the kernel.
      return reason === expected ? [] : [`${rule.kind} says: ${state} ${reason} ${message}`];
    });
  };

  /**
   * Looks are made when the statuses say that all is well, since nothing else runs meanwhile, the
   * agent included.
   */
  const problems = async (fixture: Fixture, before: readonly string[]): Promise<string[]> => {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      await sleep(BETWEEN_LOOKS_MS);
      const said = inStatuses();
      const found = said.length > 0 ? said : [...inFiles(fixture, before), ...inKernel(fixture)];
      if (found.length === 0 || patience.aborted) return found;
    }
  };

  it(`${CHANGES} random changes: after each, files, kernel and statuses agree`, async () => {
    const random = randomOfTest();
    const before = stage.files();
    rules = [];
    const agent = stage.pass.follow(() => rules);
    let fixture: Fixture = new Map();
    const wrong: string[] = [];
    let agreed = 0;
    for (let at = 1; at <= CHANGES; at += 1) {
      const change = random.pick(possible(fixture));
      const isGone = change.to === 'deleted';
      const others = [...fixture].flatMap(([kind, is]) =>
        kind === change.kind && isGone
          ? lifeRules(kind, 'deleted')
          : change.kind === kind
            ? []
            : lifeRules(kind, is),
      );
      rules = [...others, ...(isGone ? [] : lifeRules(change.kind, change.to))];
      agent.mark();
      fixture = after(fixture, change);
      const found = await problems(fixture, before);
      if (found.length === 0) agreed += 1;
      else console.log(`${at}: ${change.kind} ${change.to}:`, found);
      wrong.push(...found.map((problem) => `${at}: ${change.kind} ${change.to}: ${problem}`));
    }
    rules = [...fixture.keys()].flatMap((kind) => lifeRules(kind, 'deleted'));
    agent.mark();
    wrong.push(...(await problems(new Map(), before)).map((problem) => `at the end: ${problem}`));
    await agent.stop();
    if (process.env['UPDATE'] === '1' && recording) {
      const now = readKernelRecording(path) ?? recording;
      writeKernelRecording(path, { ...now, walk: { changes: CHANGES, agreed, wrong } });
    }
    console.log(JSON.stringify({ changes: CHANGES, agreed, wrong }, null, 1));
    expect(wrong).toEqual([]);
  }, 3_600_000);
});

it.each(given ? [] : ['ubus-fast' as const])(
  'agreed in a walk, as recorded, after each change: %s',
  (path) => {
    const { changes = 0, wrong = ['no walk'] } = readKernelRecording(path)?.walk ?? {};
    expect(wrong).toEqual([]);
    expect(changes).toBeGreaterThanOrEqual(200);
  },
);
