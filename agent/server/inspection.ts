/** The answers to people, put together from the parts of the agent. */
import type { Inspection, Resynced } from '#shared/protocol/inspection.ts';
import { createRedaction } from '#shared/protocol/redaction.ts';
import { aborted } from '#shared/runtime/aborted.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { withDeadline } from '#shared/runtime/deadline.ts';
import type { Driver } from '../openwrt/driver.ts';
import type { Attempt, Loop, Moment } from '../reconcile/loop.ts';
import type { AgentStatus } from '../report/status.ts';
import type { RuleSource } from '../inputs/rules.ts';
import type { SecretSource } from '../inputs/secrets.ts';
import { answerOf } from './answer.ts';
import { lookAt, type LookDeps } from './look.ts';
import type { InspectServerDeps } from './inspection-server.ts';

export type InspectionDeps = LookDeps & {
  driver: Pick<Driver, 'read' | 'kernelRules'>;
  about: Pick<Inspection, 'agent' | 'namespace' | 'pod' | 'purpose'>;
  loop: Pick<Loop, 'between' | 'passNow'>;
  source: Pick<RuleSource, 'unknownKinds' | 'unwatchedKinds'>;
  secrets: Pick<SecretSource, 'values' | 'unknown'>;
  status: Pick<AgentStatus, 'snapshot' | 'isPaused' | 'notReady'>;
  clock: Clock;
};

export type InspectionSource = Pick<InspectServerDeps, 'inspect' | 'kernel' | 'resync'> & {
  addAttempt: (attempt: Attempt, begun: Moment) => void;
};

/** A change of OpenWRT is waited for, and a search for what it refuses is not. */
const INSPECT_MS = 20_000;
const RESYNC_MS = 60_000;

export const createInspection = (deps: InspectionDeps): InspectionSource => {
  const { about, driver, loop, source, secrets, status, clock } = deps;
  let lastPass: Inspection['lastPass'];
  const isoOf = (wall: number): string => new Date(wall).toISOString();
  const waitsFor = (): string[] => [
    ...secrets.unknown().map((name) => `Secret ${name} has not been read yet`),
    ...[...status.notReady()].map(([part, reason]) => `${part}: ${reason}`),
  ];
  return {
    addAttempt: (attempt, begun) => {
      if (!END.has(attempt.outcome)) return;
      const message = 'message' in attempt ? attempt.message : '';
      lastPass = { at: isoOf(begun.wall), outcome: attempt.outcome, message };
    },
    inspect: () =>
      withDeadline({ timeoutMs: INSPECT_MS, clock }, (signal) =>
        loop.between(async (input) => {
          signal.throwIfAborted();
          const look = input && (await lookAt(deps, input, signal));
          return answerOf({
            ...about,
            at: isoOf(clock.now()),
            paused: status.isPaused(),
            lastPass,
            watches: [...source.unwatchedKinds()].map(([kind, problem]) => ({ kind, problem })),
            waitsFor: waitsFor(),
            look,
            snapshot: status.snapshot(),
            secrets: secrets.values().values(),
          });
        }),
      ),
    kernel: () => {
      const read = driver.kernelRules?.() ?? { unread: 'this driver does not read the kernel' };
      if ('unread' in read) return read;
      const redaction = createRedaction();
      redaction.add(secrets.values().values());
      return { text: redaction.text(read.text) };
    },
    resync: () =>
      withDeadline({ timeoutMs: RESYNC_MS, clock }, async (signal): Promise<Resynced> => {
        const attempt = await Promise.race([loop.passNow(), tooLate(signal)]);
        const message = 'message' in attempt ? attempt.message : '';
        return { outcome: attempt.outcome, message, paused: status.isPaused() };
      }),
  };
};

/** The end of a pass, or of the try of one. */
const END: ReadonlySet<Attempt['outcome']> = new Set(['passed', 'hindered', 'unanswered']);

const tooLate = async (signal: AbortSignal): Promise<never> => {
  await aborted(signal);
  throw signal.reason;
};
