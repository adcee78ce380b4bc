/**
 * The report that an agent POSTs to `/v1/namespaces/{ns}/pods/{pod}/report`: the state of every
 * rule CR on its OpenWRT. A full one comes in pages where it is large, and takes effect when the
 * last page is there. After it the agent sends what has changed since; nothing has in a heartbeat.
 * A report never holds a secret: messages name fields, not values of secret fields.
 *
 * Report and answer bear the version of the protocol, and neither side takes one of another: there
 * is only this one yet (docs/upgrading.md).
 */
import * as z from 'zod';
import { RESTARTABLE_SERVICES } from '../names.ts';
import { plainText } from '../util/plain-text.ts';
import { countersSchema } from './counters.ts';
import { informationSchema } from './information.ts';
import { MAX_REASON_LENGTH } from './reasons.ts';

/**
 * Header of a report: to how many other coordinators the agent reports. Where there are none, what
 * it says would be lost on a coordinator that does not lead.
 */
export const OTHERS_HEADER = 'sdewan-other-coordinators';
export const REPORT_VERSION = 1;
/** Rules in one page: at ~400 bytes each a page is far below the coordinator's limit of 1 MiB. */
export const MAX_RULES_PER_PAGE = 1_000;
export const MAX_MESSAGE_LENGTH = 1_024;

export const ruleStates = ['Applied', 'Pending', 'Failed', 'Removed'] as const;
export type RuleState = (typeof ruleStates)[number];

/** What an agent, or an OpenWRT by it, says for people: statuses, Events and terminals show it. */
const words = (max: number) => z.string().max(max).overwrite(plainText);

export const ruleReportSchema = z.object({
  kind: z.string().min(1).max(63),
  name: z.string().min(1).max(253),
  uid: z.string().min(1).max(64),
  generation: z.int().min(0),
  /** `revisionOf` of what the agent has seen; for `Applied`, of what OpenWRT holds. */
  revision: z.string().min(1).max(64),
  state: z.enum(ruleStates),
  /** One of `reasons.ts`; an agent that is not ours may say any such word. */
  reason: z
    .string()
    .max(MAX_REASON_LENGTH)
    .regex(/^[A-Z][A-Za-z0-9]*$/),
  message: words(MAX_MESSAGE_LENGTH),
  /**
   * The generation that OpenWRT has in force, read back, of a rule that is not `Applied`. The
   * rule's own one where only an annotation has changed since. Absent: none of it.
   */
  generationInForce: z.int().min(1).optional(),
  /**
   * Which tunnels of IPsec are down, in words, of an `Applied` rule that brings some up; '' when
   * none is. Absent: it brings none up, or how they are is not known.
   */
  tunnelsDown: words(512).optional(),
});
export type RuleReport = z.infer<typeof ruleReportSchema>;

export const openwrtStateSchema = z.object({
  reachable: z.boolean(),
  driver: words(32),
  message: words(MAX_MESSAGE_LENGTH),
  /** How often a difference that no CR change explains was found and repaired since the start. */
  driftRepairs: z.int().min(0),
});
export type OpenwrtState = z.infer<typeof openwrtStateSchema>;

/**
 * Milliseconds by the clock of the pod's node, which the kubelet's times are of as well: they show
 * which run of a container a report is about.
 */
export const reportClockSchema = z.object({
  /** When this agent started. */
  startedAt: z.number(),
  sentAt: z.number(),
  /**
   * When looks began that found OpenWRT as the agent had left it: the last one, and the first one
   * since there was a doubt. Absent before the first.
   */
  verified: z.object({ since: z.number(), last: z.number() }).optional(),
});
export type ReportClock = z.infer<typeof reportClockSchema>;

/** A section that another writer had changed or removed, and that the agent has put back. */
export const driftSchema = z.object({
  package: words(64),
  section: words(128),
  /** The uid of the rule that it was made for; absent: it is not known. */
  uid: z.string().max(64).optional(),
  /** OpenWRT has come back without any of our sections of the package; `section` is `*`. */
  whole: z.literal(true).optional(),
  /** By the clock of the pod's node, milliseconds. */
  at: z.number(),
});
export type Drift = z.infer<typeof driftSchema>;
/** The latest ones are reported, for this long. */
export const MAX_DRIFTS = 64;
export const DRIFT_TOLD_MS = 600_000;

/** Sections of others that the agent cannot compare with the kernel, a few of them, and why. */
export const unreadOthersSchema = z.object({ package: words(64), sections: words(640) });
export type UnreadOthers = z.infer<typeof unreadOthersSchema>;
export const MAX_UNREAD_PACKAGES = 8;

/**
 * How a change of a rule came to OpenWRT, milliseconds by the clock of the pod's node: the agent
 * saw it, a pass with it began, what OpenWRT is to have was known, OpenWRT had it.
 */
export const changeTimesSchema = z.object({
  uid: z.string().min(1).max(64),
  generation: z.int().min(1),
  seenAt: z.number().min(0),
  begunAt: z.number().min(0),
  compiledAt: z.number().min(0),
  appliedAt: z.number().min(0),
});
export type ChangeTimes = z.infer<typeof changeTimesSchema>;
/** In one report; others follow with the next. */
export const MAX_CHANGES_TIMED = 100;

/** Distances of CNFs: the nearest has the traffic, 3 and more are those of sets that are staged. */
export const MAX_DISTANCE = 8;
/** The distance of a pod to which no coordinator has given one. */
export const UNORDERED_DISTANCE = 3;

const requestId = () => z.string().min(1).max(64);

/** A request of a user that an agent has served last. */
export const servedRestartSchema = z.object({
  id: requestId(),
  /** False: its OpenWRT has no such service that the agent can restart. */
  done: z.boolean(),
});
export type ServedRestart = z.infer<typeof servedRestartSchema>;

/** Without a distance: none is in force since this agent started. */
export const fleetWordSchema = z.object({
  distance: z.int().min(0).max(MAX_DISTANCE).optional(),
  restarted: servedRestartSchema.optional(),
  /** The version of the agent. */
  agent: words(64).optional(),
});
export type FleetWord = z.infer<typeof fleetWordSchema>;

export const reportSchema = z.object({
  version: z.literal(REPORT_VERSION),
  /** New at every start of the agent process. */
  bootId: z.string().min(8).max(64),
  /** Grows by one with each report of a boot; all pages of a report have the same. */
  sequence: z.int().min(0),
  page: z.int().min(0),
  pages: z.int().min(1),
  /**
   * The sequence number of the last report of this boot with other rules than the one before: they
   * still hold, but for `rules`, which are new or have changed since, and for `gone`. A coordinator
   * that does not know that report answers `wantsFull`.
   */
  repeats: z.int().min(0).optional(),
  /** Only with `repeats`: uids of rules of that report that the agent reports no more. */
  gone: z.array(z.string().min(1).max(64)).max(MAX_RULES_PER_PAGE).optional(),
  purpose: z.string().min(1).max(63),
  openwrt: openwrtStateSchema,
  /** Kinds whose watch is not in sync (403, 404, silence): their rules are kept as they were. */
  unwatchedKinds: z.array(words(63)).max(64),
  /** On any report that the coordinator lacks it on; what was reported before holds otherwise. */
  information: informationSchema.optional(),
  /**
   * Only of pods of CNFDeployments, and once a minute at most: on the first page of a report, where
   * the coordinator lacks them. What was reported before holds otherwise.
   */
  counters: countersSchema.optional(),
  /**
   * UCI packages whose files have lost their comments by the first write of this pod's agents.
   * Reported to the coordinator that leads, until it has received it.
   */
  commentsLost: z
    .array(
      z
        .string()
        .max(64)
        .regex(/^[\w-]+$/),
    )
    .max(32)
    .optional(),
  clock: reportClockSchema,
  /** Why what is reported of OpenWRT may not hold any more, so that nothing becomes true by it. */
  doubt: words(MAX_MESSAGE_LENGTH),
  /** On the first page. */
  drifts: z.array(driftSchema).max(MAX_DRIFTS).optional(),
  /**
   * On any report: why the agent cannot write its state folder, so that it changes nothing on
   * OpenWRT. Absent: it can.
   */
  stateFolder: words(MAX_MESSAGE_LENGTH).optional(),
  /** On any report. */
  unreadOthers: z.array(unreadOthersSchema).max(MAX_UNREAD_PACKAGES).optional(),
  /** On any report. */
  fleet: fleetWordSchema,
  /** Only to a coordinator that wants them. */
  times: z.array(changeTimesSchema).max(MAX_CHANGES_TIMED).optional(),
  rules: z.array(ruleReportSchema).max(MAX_RULES_PER_PAGE),
});
export type Report = z.infer<typeof reportSchema>;

/** The most devices of one pod, in an answer to another. */
export const MAX_DEVICES = 64;
export const MAX_ADDRESSES_OF_DEVICE = 16;
export const MAX_ADDRESSES_OF_POD = 64;
/** The most pods of all sets of a CNFDeployment at once. */
export const MAX_FLEET_PODS = 16;

const addressesOf = (pods: number) =>
  z
    .array(
      z.object({
        device: z.string().max(64),
        addresses: z.array(z.string().max(64)).max(pods * MAX_ADDRESSES_OF_DEVICE),
      }),
    )
    .max(MAX_DEVICES);
/** What is wrong of either is left out: an agent takes the rest, and keeps what it had. */
const peersSchema = addressesOf(MAX_FLEET_PODS).optional().catch(undefined);
const ownSchema = addressesOf(1).optional().catch(undefined);

const restartOrderSchema = z.object({ id: requestId(), service: z.enum(RESTARTABLE_SERVICES) });
export type RestartOrder = z.infer<typeof restartOrderSchema>;

/** What a pod of a CNFDeployment is told. */
export const fleetOrderSchema = z.object({
  distance: z.int().min(0).max(MAX_DISTANCE),
  /** After how long the next report is due. */
  nextReportMs: z.int().min(100).max(60_000),
  /** Addresses that the CNF's other pods have on devices that the pod has as well. */
  peers: peersSchema,
  /** Those of the pod itself. Absent: none is known. */
  own: ownSchema,
  /** A service that a user wants restarted. In each answer until the agent says that it has. */
  restart: restartOrderSchema.optional().catch(undefined),
});
export type FleetOrder = z.infer<typeof fleetOrderSchema>;
/** What an agent reads of one: all that the bounds above let a coordinator say. */
export const MAX_ANSWER_BYTES = 131_072;
/** The share of `nextReportMs` after which an agent reports: a report is awaited when it is due. */
export const REPORTED_AFTER = 0.875;

export const reportAnswerSchema = z.object({
  /** New at every start of the coordinator; a change makes the agent report in full at once. */
  epoch: z.string(),
  /** The coordinator does not have the report that `repeats` names: report in full at once. */
  wantsFull: z.boolean().optional(),
  version: z.literal(REPORT_VERSION, {
    error: ({ input }) =>
      `the coordinator speaks version ${String(input)} of the protocol, this agent ${REPORT_VERSION}`,
  }),
  /** The leading coordinator makes traces: report when changes have come to OpenWRT. */
  wantsTimes: z.boolean().optional(),
  /** The number of the leading coordinator's term. Only the highest one's instructions count. */
  leaseTransitions: z.int().min(0).optional(),
  /** The leading coordinator's order. */
  fleet: fleetOrderSchema.optional().catch(undefined),
});
export type ReportAnswer = z.infer<typeof reportAnswerSchema>;
