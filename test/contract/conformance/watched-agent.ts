/**
 * An agent with commit-confirm as a process of its own, which can be killed. It is told the rules,
 * and tells the states of all again and again; on SIGTERM it ends. `node watched-agent.ts FOLDER`,
 * with the device in the environment as for a run on it.
 */
import { join } from 'node:path';
import * as z from 'zod';
import type { RuleObject } from '#shared/kube/objects.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import {
  createCommitConfirm,
  type CommitConfirm,
} from '../../../agent/commit-confirm/commit-confirm.ts';
import { openRecord } from '../../../agent/commit-confirm/record.ts';
import { createTargets } from '../../../agent/commit-confirm/reachability.ts';
import type { Following } from '../agent/support/converge.ts';
import { targetAt } from './api-server-of-peer.ts';
import { namedDevice } from './named-device.ts';
import { passOn } from './stage.ts';

/** As by default: what a device at high load takes to reload is within it. */
const DEADLINE_MS = 30_000;
const TOLD_EVERY_MS = 100;

const told = z.object({ rules: z.array(z.custom<RuleObject>()) });

const [, , folder = ''] = process.argv;
const device = namedDevice();
if (device === undefined) throw new Error('no device is named');

/** Undefined until it is told: without an API server they are not listed. */
let rules: readonly RuleObject[] | undefined;
const watched: { commitConfirm?: CommitConfirm; following?: Following } = {};
const file = await openRecord(join(folder, 'commit-confirm.json'), silentLogger);
const apiServer = targetAt(process.env['OPENWRT_INSIDE'] ?? '');
const pass = await passOn(device, folder, (driver) => {
  watched.commitConfirm = createCommitConfirm({
    file,
    targets: createTargets([apiServer], systemClock),
    decisive: [apiServer],
    isOutage: async () => false,
    deadlineMs: DEADLINE_MS,
    purpose: 'cnf-1',
    driver,
    onChange: () => watched.following?.mark(),
    clock: systemClock,
    log: silentLogger,
  });
  return watched.commitConfirm;
});
const stopping = new AbortController();
watched.following = pass.follow(() => rules);
const ended = watched.commitConfirm?.run(stopping.signal);

process.on('message', (message) => {
  rules = told.parse(message).rules;
  watched.following?.mark();
});
const telling = setInterval(() => process.send?.(pass.states()), TOLD_EVERY_MS);
process.once('SIGTERM', () => {
  void (async () => {
    clearInterval(telling);
    stopping.abort(new Error('it is to end'));
    await ended;
    await watched.following?.stop();
    await pass.driver.close();
    process.disconnect?.();
  })();
});
