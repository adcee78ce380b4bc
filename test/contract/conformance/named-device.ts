/**
 * The OpenWRT that a run was given (`npm run suite device`): where it is, and how to look inside it
 * and at the other end of its interfaces. Absent in every other run, where recordings stand for it.
 */
import { execFileSync } from 'node:child_process';
import * as z from 'zod';

const named = z.object({
  OPENWRT_URL: z.url(),
  OPENWRT_USER: z.string().default('root'),
  OPENWRT_PASSWORD_FILE: z.string(),
  OPENWRT_API: z.enum(['ubus', 'icn']).default('ubus'),
  OPENWRT_INSIDE: z.string().optional(),
  OPENWRT_PEER: z.string().optional(),
});

export type NamedDevice = {
  url: string;
  user: string;
  passwordFile: string;
  api: 'ubus' | 'icn';
  /** Runs a shell script on the device, and gives what it printed. @throws Error when it fails */
  inside?: (script: string) => string;
  /** The same at the other end of its interfaces, as root. */
  peer?: (script: string) => string;
};

const LIMITS = { timeout: 60_000, maxBuffer: 64 * 1_048_576 };

/**
 * `command` starts a program there, given as its arguments: `in.sh NAME`, `ssh root@router`. The
 * script comes by stdin, unquoted by anybody.
 */
const shellBy =
  (command: string) =>
  (script: string): string => {
    const [program = '', ...args] = command.split(' ');
    return execFileSync(program, [...args, 'sh'], {
      ...LIMITS,
      input: script,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  };

/** undefined where none is named. @throws ZodError where it is named wrongly */
export const namedDevice = (env = process.env): NamedDevice | undefined => {
  if (env['OPENWRT_URL'] === undefined) return undefined;
  const given = named.parse(env);
  return {
    url: given.OPENWRT_URL,
    user: given.OPENWRT_USER,
    passwordFile: given.OPENWRT_PASSWORD_FILE,
    api: given.OPENWRT_API,
    ...(given.OPENWRT_INSIDE !== undefined && { inside: shellBy(given.OPENWRT_INSIDE) }),
    ...(given.OPENWRT_PEER !== undefined && { peer: shellBy(given.OPENWRT_PEER) }),
  };
};

/**
 * A second one, with a wire to the first (test/openwrt/device/link.sh); what is not named is as
 * with the first.
 */
export const otherDevice = (env = process.env): NamedDevice | undefined => {
  const { OPENWRT_OTHER_URL: url, OPENWRT_OTHER_INSIDE: inside } = env;
  if (url === undefined) return undefined;
  return namedDevice({ ...env, OPENWRT_URL: url, OPENWRT_INSIDE: inside });
};
