/** Starts the helper (`helper.ts`) over ubus, and reads what it has left. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { OpenwrtBlockedError } from '../driver.ts';
import { ACCESS_DENIED, UBUS_STATUS, UbusError } from '../ubus/client/rpc.ts';
import type { UbusSession } from '../ubus/client/session.ts';
import { executable, granted, type Grants } from '../ubus/login/grants.ts';
import { blockCommands, readBlocks } from '../ubus/read/blocks.ts';
import { EXCERPT_FILES, KERNEL_FILE, STEPS_FILE, VERBS, type Verb } from './helper.ts';

export const KERNEL_RIGHTS: Grants = {
  read: {
    file: executable([
      ...VERBS.map((verb) => `${KERNEL_HELPER_PATH} ${verb}`),
      ...blockCommands(KERNEL_FILE),
    ]),
  },
  write: {
    ubus: { file: ['exec', 'write'] },
    file: granted([...Object.values(EXCERPT_FILES), STEPS_FILE], ['write']),
  },
};

/** A thousand routes are as many programs. rpcd waits 600 s with a login of our own, and uhttpd 60 s for rpcd. */
const TIMEOUT_MS = 65_000;

const execSchema = z.object({ code: z.int(), stdout: z.string().default('') });

/** What it printed, or why it prints nothing. @throws UbusError when the session has ended, OpenwrtError when OpenWRT is not reached */
export const runVerb = async (
  session: UbusSession,
  verb: Verb,
  signal: AbortSignal,
): Promise<{ stdout: string } | { whyNot: string }> => {
  const args = { command: KERNEL_HELPER_PATH, params: [verb] };
  const call = { object: 'file', method: 'exec', args };
  const [answer] = await session.attempt([call], { signal, timeoutMs: TIMEOUT_MS });
  if (answer?.code === ACCESS_DENIED) throw new UbusError(call, answer.code);
  const { data } = execSchema.safeParse(answer?.code === 0 ? answer.data : undefined);
  if (data?.code === 0) return { stdout: data.stdout };
  return {
    whyNot: REFUSALS[answer?.code ?? 0] ?? `${KERNEL_HELPER_PATH} ${verb} fails on OpenWRT`,
  };
};

const REFUSALS: Readonly<Record<number, string>> = {
  [UBUS_STATUS.notFound]: `OpenWRT has no ${KERNEL_HELPER_PATH}, which comes with a login that the agent makes itself`,
  [UBUS_STATUS.permissionDenied]: `the login on OpenWRT may not run ${KERNEL_HELPER_PATH}`,
};

/** @throws OpenwrtBlockedError when somebody else has started it meanwhile, OpenwrtError */
export const found = async (
  session: UbusSession,
  md5: string,
  signal: AbortSignal,
): Promise<string> => {
  const bytes = await readBlocks(session, KERNEL_FILE, signal);
  if (!Buffer.isBuffer(bytes)) throw new OpenwrtBlockedError('look into the kernel', bytes.why);
  if (createHash('md5').update(bytes).digest('hex') !== md5)
    throw new OpenwrtBlockedError('look into the kernel', 'another agent looks at the same time');
  return bytes.toString('utf8');
};
