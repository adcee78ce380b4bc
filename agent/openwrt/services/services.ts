/** Reloads the service behind a package, and reads what it says. Init scripts bear its name. */
import * as z from 'zod';
import type { UciPackage } from '#shared/uci/model.ts';
import { OpenwrtError, OpenwrtReloadTimeoutError } from '../driver.ts';
import { blindness, readReload, SILENT, type ReloadVerdict } from './fw4-reload.ts';
import { refusedConnections } from './ipsec-messages.ts';
import { ACCESS_DENIED, REQUEST_TIMED_OUT, UBUS_STATUS, UbusError } from '../ubus/client/rpc.ts';
import { checked, type UbusSession } from '../ubus/login/session.ts';
import { own } from '#shared/util/own.ts';

/** fw4 takes 6.2 s for 10,000 named rules (measured); what else is known comes with the call. */
const RELOAD_TIMEOUT_MS = 120_000;

/**
 * In the order of preference: images differ in where fw4 is, those before 22.03 have firewall3, and
 * IPsec has two services.
 */
const RELOADS: Readonly<Record<string, readonly string[]>> = {
  firewall: ['/sbin/fw4', '/usr/sbin/fw4', '/etc/init.d/firewall'],
  // The same order as in capabilities.ts.
  ipsec: ['/etc/init.d/ipsec', '/etc/init.d/swanctl'],
};

const TOO_SLOW =
  'it takes longer than OpenWRT waits for it: raise option timeout of rpcd and script_timeout of uhttpd';

/** Programs that reload the service behind a package when called with `reload`. */
export const reloadersOf = (name: string): readonly string[] =>
  own(RELOADS, name) ?? [`/etc/init.d/${name}`];

const FW4 = new Set(['/sbin/fw4', '/usr/sbin/fw4']);
/** What fw4 prints, with code 1, when it is stopped: `reload` does not start it (measured). */
const STOPPED = 'does not appear to be loaded';

/** What the rights name: the command lines by which the service behind a package is reloaded. */
export const reloadCommandsOf = (name: string): readonly string[] =>
  reloadersOf(name).flatMap((program) => [
    `${program} reload`,
    ...(FW4.has(program) ? [`${program} start`] : []),
  ]);

const execSchema = z.object({ code: z.int(), stderr: z.string().default('') });
type Ended = z.infer<typeof execSchema>;

/**
 * Why a firewall package must not be reloaded, or undefined. fw4 answers 0 for a package without
 * `defaults` or zones, and then drops everything (measured). `expectZones`: whether the change was
 * meant to leave zones there.
 */
export const whyNotReload = (content: UciPackage, expectZones: boolean): string | undefined => {
  if (content.name !== 'firewall') return undefined;
  const has = (type: string): boolean => content.sections.some((section) => section.type === type);
  if (!has('defaults')) return 'it has no defaults section, so a reload would drop everything';
  if (expectZones && !has('zone')) return 'its zones are gone, so a reload would drop everything';
  return undefined;
};

/** @throws OpenwrtError when no reload command may be run, or when it fails. */
export const reloadService = async (
  session: UbusSession,
  content: UciPackage,
  signal: AbortSignal,
  waitMs = RELOAD_TIMEOUT_MS,
): Promise<ReloadVerdict> => {
  const { name } = content;
  const commands = reloadersOf(name);
  for (const command of commands) {
    const reloaded = await run(session, [command, 'reload'], { signal, waitMs });
    // Not there, or not what the rights name: the next one may be.
    if (reloaded === undefined) continue;
    const isStopped = FW4.has(command) && reloaded.stderr.includes(STOPPED);
    const started = isStopped
      ? await run(session, [command, 'start'], { signal, waitMs })
      : undefined;
    const { code, stderr } = started ?? reloaded;
    const verdict =
      name === 'ipsec'
        ? { ...SILENT, warnings: refusedConnections(stderr) }
        : readReload(stderr, content.sections);
    // Other services' exit codes tell nothing (measured).
    if (name === 'firewall') assertLoaded(command, { code, stderr, verdict });
    return verdict;
  }
  throw new OpenwrtError(
    `reload ${name}`,
    `the login on OpenWRT may run none of: ${commands.map((command) => `${command} reload`).join(', ')}`,
  );
};

const assertLoaded = (
  command: string,
  { code, stderr, verdict }: { code: number; stderr: string; verdict: ReloadVerdict },
): void => {
  const why = code === 0 || verdict.refusal ? blindness(stderr) : stderr.trim();
  if (why === undefined) return;
  throw new OpenwrtError('reload firewall', `${command} ended with code ${code}: ${why}`);
};

/**
 * Undefined when it cannot be run. @throws UbusError when the session has ended,
 * OpenwrtReloadTimeoutError when it takes too long
 */
const run = async (
  session: UbusSession,
  [command, action]: readonly [string, 'reload' | 'start'],
  { signal, waitMs }: { signal: AbortSignal; waitMs: number },
): Promise<Ended | undefined> => {
  const call = { object: 'file', method: 'exec', args: { command, params: [action] } };
  const [answer] = await session.attempt([call], { signal, timeoutMs: waitMs });
  if (answer?.code === ACCESS_DENIED) throw new UbusError(call, answer.code);
  if (answer?.code === UBUS_STATUS.timeout || answer?.code === REQUEST_TIMED_OUT)
    throw new OpenwrtReloadTimeoutError(`${action} ${command}`, TOO_SLOW);
  return answer?.code === 0 ? checked(call, answer, execSchema) : undefined;
};
