/** Starts the helper (`helper.ts`) over ubus, and reads what it has left. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { OpenwrtBlockedError } from '../driver.ts';
import {
  ACCESS_DENIED,
  UBUS_STATUS,
  UbusError,
  type UbusAnswer,
  type UbusCall,
} from '../ubus/client/rpc.ts';
import { checked, type UbusSession } from '../ubus/login/session.ts';
import { executable, granted, type Grants } from '../ubus/login/grants.ts';
import { blockCommands, readBlocks } from '../ubus/read/blocks.ts';
import { OWNER_ONLY, PART_BYTES, writeCall, writeFile } from '../ubus/write/staging.ts';
import {
  EXCERPT_FILES,
  KERNEL_FILE,
  POLICIES_FILE,
  POLICIES_LISTED,
  STEPS_FILE,
  TUNNELS_FILE,
  VERBS,
  type Verb,
} from './helper.ts';

export const KERNEL_RIGHTS: Grants = {
  read: {
    file: executable([
      ...VERBS.map((verb) => `${KERNEL_HELPER_PATH} ${verb}`),
      ...blockCommands(KERNEL_FILE),
      ...blockCommands(POLICIES_LISTED),
    ]),
  },
  write: {
    ubus: { file: ['exec', 'write'] },
    file: granted(
      [...Object.values(EXCERPT_FILES), STEPS_FILE, POLICIES_FILE, TUNNELS_FILE],
      ['write'],
    ),
  },
};

/** A thousand routes are as many programs. rpcd waits 600 s with our login; uhttpd 60 s. */
const TIMEOUT_MS = 65_000;

const execSchema = z.object({ code: z.int(), stdout: z.string().default('') });

/** What it printed, or why it prints nothing. */
type Told = { stdout: string } | { whyNot: string };

/** @throws UbusError when the session has ended, OpenwrtError when OpenWRT is not reached */
export const runVerb = async (
  session: UbusSession,
  verb: Verb,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Told> => {
  const [answer] = await session.attempt([callOf(verb)], { signal, timeoutMs });
  return toldBy(verb, answer);
};

/**
 * The same on files of these texts, which are written first: by the same request, where it is not
 * too long. @throws OpenwrtError
 */
export const runVerbOn = async (
  session: UbusSession,
  texts: Readonly<Record<string, string>>,
  verb: Verb,
  signal: AbortSignal,
): Promise<Told> => {
  const files = Object.entries(texts).map(([path, text]) => ({ path, text, mode: OWNER_ONLY }));
  const writes = files.map((file) => writeCall(file));
  const calls = [...writes, callOf(verb)];
  if (Buffer.byteLength(JSON.stringify(calls)) > PART_BYTES) {
    for (const file of files) await writeFile(session, file, signal);
    return runVerb(session, verb, signal);
  }
  const answers = await session.attempt(calls, { signal, timeoutMs: TIMEOUT_MS });
  // What it has found in older files is not of these.
  for (const [at, call] of writes.entries()) checked(call, answers[at], z.unknown());
  return toldBy(verb, answers[writes.length]);
};

const callOf = (verb: Verb): UbusCall => ({
  object: 'file',
  method: 'exec',
  args: { command: KERNEL_HELPER_PATH, params: [verb] },
});

const toldBy = (verb: Verb, answer: UbusAnswer | undefined): Told => {
  if (answer?.code === ACCESS_DENIED) throw new UbusError(callOf(verb), answer.code);
  const { data } = parseUntrusted(execSchema, answer?.code === 0 ? answer.data : undefined);
  if (data?.code === 0) return { stdout: data.stdout };
  return {
    whyNot: REFUSALS[answer?.code ?? 0] ?? `${KERNEL_HELPER_PATH} ${verb} fails on OpenWRT`,
  };
};

const REFUSALS: Readonly<Record<number, string>> = {
  [UBUS_STATUS.notFound]: `OpenWRT has no ${KERNEL_HELPER_PATH}, which comes with a login that the agent makes itself`,
  [UBUS_STATUS.permissionDenied]: `the login on OpenWRT may not run ${KERNEL_HELPER_PATH}`,
};

/** @throws OpenwrtBlockedError when another client has started it meanwhile, OpenwrtError */
export const found = (session: UbusSession, md5: string, signal: AbortSignal): Promise<string> =>
  foundIn(KERNEL_FILE, session, md5, signal);

/** The same in another of its files. @throws as `found` */
export const foundIn = async (
  path: string,
  session: UbusSession,
  md5: string,
  signal: AbortSignal,
): Promise<string> => {
  const bytes = await readBlocks(session, path, signal);
  if (!Buffer.isBuffer(bytes)) throw new OpenwrtBlockedError('look into the kernel', bytes.why);
  if (createHash('md5').update(bytes).digest('hex') !== md5)
    throw new OpenwrtBlockedError('look into the kernel', 'another agent looks at the same time');
  return bytes.toString('utf8');
};
