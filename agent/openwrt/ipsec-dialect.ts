/** Which of the two IPsec services an OpenWRT has: both read package `ipsec`, and each reads it in its own way. */
import * as z from 'zod';
import type { IpsecDialect } from '#shared/kinds/kind.ts';
import type { UbusSession } from './session.ts';

export const INIT_SCRIPTS = '/etc/init.d';
const listSchema = z.object({ entries: z.array(z.object({ name: z.string() })) });

/** `classic` where both are installed, as on ICN's image, and where the login may not look. */
export const ipsecDialectOf = async (
  session: UbusSession,
  signal: AbortSignal,
): Promise<IpsecDialect> => {
  const call = { object: 'file', method: 'list', args: { path: INIT_SCRIPTS } };
  const [answer] = await session.attempt([call], { signal });
  const { data } = listSchema.safeParse(answer?.data);
  const scripts = new Set(data?.entries.map(({ name }) => name));
  return scripts.has('swanctl') && !scripts.has('ipsec') ? 'swanctl' : 'classic';
};
