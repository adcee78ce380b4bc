/** What the login on OpenWRT may do, asked once per session: rpcd reads the rights at each login. */
import * as z from 'zod';
import type { UbusSession } from './session.ts';

const accessSchema = z.object({ access: z.boolean() });

/**
 * The packages that the login may write. One that cannot be asked about counts as writable: writing tells. Needed because
 * rpcd answers alike when a right is missing and when somebody's apply is pending (measured).
 */
export const writablePackages = async (
  session: UbusSession,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const calls = packages.map((object) => ({
    object: 'session',
    method: 'access',
    args: { scope: 'uci', object, function: 'write' },
  }));
  const answers = await session.attempt(calls, { signal });
  return new Set(
    packages.filter(
      (_name, at) => accessSchema.safeParse(answers[at]?.data).data?.access !== false,
    ),
  );
};
