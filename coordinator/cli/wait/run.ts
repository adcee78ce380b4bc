/** Looks once a second: what it waits for takes seconds, and a watch of each of the kinds would cost the API server more. */
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { few } from '#shared/runtime/few.ts';
import { withCluster } from '../cluster/connect.ts';
import { gather } from '../cluster/facts.ts';
import { cnfNamed, namespaceOf } from '../cluster/scope.ts';
import { optionsBy, type Run } from '../command.ts';
import { printText } from '../output/format.ts';
import { CODES, unseen } from '../status/answer.ts';
import { statusText, statusViewOf, type StatusView } from '../status/view.ts';

const INTERVAL_MS = 1_000;
const MAX_NAMED = 3;

const optionsSchema = z.object({
  timeout: z.coerce.number({ error: '--timeout must be a number of seconds' }).min(0),
});

export const runWait: Run = ({ args: [name = ''], options }, io, signal) =>
  withCluster({ options, io }, async ({ client, namespace: usual }) => {
    const data = optionsBy(optionsSchema, options);
    const end = performance.now() + data.timeout * 1_000;
    const namespace = namespaceOf(options, usual);
    for (let said = ''; ;) {
      const facts = await gather(client, { namespace }, signal);
      cnfNamed(facts, name, namespace);
      const view = statusViewOf(facts, name);
      if (view.inSync !== 'No') {
        io.out(`${name}: ${inSyncText(view)}\n`);
        for (const line of unseen(view)) io.say(line);
        return CODES[view.inSync];
      }
      if (performance.now() >= end) {
        printText(io, statusText(view, { isWide: false, hasNamespaces: false, now: Date.now() }));
        io.say(`${name}: not in sync after ${data.timeout} s`);
        return CODES.No;
      }
      const waiting = waitingText(view);
      if (waiting !== said) io.say(waiting);
      said = waiting;
      await pause(Math.min(INTERVAL_MS, Math.max(0, end - performance.now())), undefined, {
        signal,
      });
    }
  });

const inSyncText = ({ cnfs, inSync }: StatusView): string => {
  const total = cnfs.reduce((sum, { rules }) => sum + rules.total, 0);
  return inSync === 'Yes'
    ? `${total} rules in sync`
    : `${total} rules that can be seen are in sync`;
};

const waitingText = ({ notInSync }: StatusView): string => {
  const rules = notInSync.map(({ kind, name, reason }) => `${kind}/${name} (${reason})`);
  return `waiting for ${few(rules, MAX_NAMED)}`;
};
