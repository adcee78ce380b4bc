/**
 * Finds out what an OpenWRT can do, once in each session over ubus, from its init scripts. Where
 * the login may not look, it is taken for what is usual.
 */
import * as z from 'zod';
import { UBUS } from '#shared/inject/drivers.ts';
import { ASSUMED, type Capabilities, type IpsecDialect } from '#shared/resources/capabilities.ts';
import { parseUntrusted } from '#shared/util/untrusted.ts';
import { ipsecServiceOf } from './services/ipsec-service.ts';
import { OpenwrtAclError } from './driver.ts';
import { UBUS_STATUS, type UbusCall } from './ubus/client/rpc.ts';
import type { UbusSession } from './ubus/login/session.ts';

const INIT_SCRIPTS = '/etc/init.d';
const FIREWALL_SCRIPT = `${INIT_SCRIPTS}/firewall`;
/** In the order of preference where both are installed, as on ICN's image. */
const IPSEC_SCRIPTS: Readonly<Record<IpsecDialect, string>> = {
  classic: `${INIT_SCRIPTS}/ipsec`,
  swanctl: `${INIT_SCRIPTS}/swanctl`,
};

/** What is listed and read to find it out. */
export const CAPABILITY_FILES = {
  listed: [INIT_SCRIPTS],
  read: [FIREWALL_SCRIPT, ...Object.values(IPSEC_SCRIPTS)],
} as const;

const listSchema = z.object({ entries: z.array(z.object({ name: z.string() })) });
const readSchema = z.object({ data: z.string() });

/**
 * Without arguments they do nothing. What a login may not call is denied (-32002), so that these
 * codes are of ubusd's ACL alone (measured): an object, or a method of one, that it does not grant.
 */
const PROBES: readonly UbusCall[] = [
  { object: 'file', method: 'md5' },
  { object: 'uci', method: 'add' },
];
const OF_ACL: ReadonlySet<number | undefined> = new Set([
  UBUS_STATUS.notFound,
  UBUS_STATUS.permissionDenied,
]);

/** @throws OpenwrtAclError, OpenwrtError when rpcd is not reached */
export const capabilitiesOf = async (
  session: UbusSession,
  signal: AbortSignal,
): Promise<Capabilities> => {
  const [listing, ...probed] = await session.attempt([on('list', INIT_SCRIPTS), ...PROBES], {
    signal,
  });
  const refused = PROBES.find((_, at) => OF_ACL.has(probed[at]?.code));
  if (refused !== undefined) throw new OpenwrtAclError(refused);
  const { data } = parseUntrusted(listSchema, listing?.data);
  const scripts = data && new Set(data.entries.map(({ name }) => name));
  const dialect = scripts?.has('swanctl') && !scripts.has('ipsec') ? 'swanctl' : 'classic';
  const path = IPSEC_SCRIPTS[dialect];
  const reads = [on('read', FIREWALL_SCRIPT), on('read', path)];
  const answers = await session.attempt(reads, { signal, bytes: true });
  const [firewallScript, ipsecScript] = answers.map(
    (answer) => parseUntrusted(readSchema, answer.data).data?.data,
  );
  const firewall = firewallIn(firewallScript);
  return {
    dialect: UBUS.dialect,
    firewall,
    sets: firewall === 'fw4',
    ipsec: await ipsecServiceOf(session, { dialect, path, text: ipsecScript }, signal),
    mwan3: scripts?.has('mwan3') ?? ASSUMED.mwan3,
  };
};

/** Both are called by a script of the same name. */
const firewallIn = (script: string | undefined): Capabilities['firewall'] => {
  if (script === undefined) return ASSUMED.firewall;
  return /\bfw3\b/.test(script) ? 'fw3' : 'fw4';
};

const on = (method: 'list' | 'read', path: string): UbusCall => ({
  object: 'file',
  method,
  args: { path },
});
