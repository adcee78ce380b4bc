/** Reads a file in blocks by `dd`, for what is too large for `file.read`. */
import * as z from 'zod';
import type { UbusCall } from '../client/rpc.ts';
import { checked, codeOf, type UbusSession } from '../login/session.ts';

/** `file.read` and output of `file.exec` fail from 256 KiB (measured); rights name this size. */
const BLOCK_BYTES = 131_072;
/** Two digits are what the rights allow for `skip=`: 12.5 MiB, some 70,000 rules. */
const MAX_BLOCKS = 100;

/** The rights name a command by its absolute path, and images differ in where `dd` is. */
const DD_PATHS = ['/bin/dd', '/usr/bin/dd'];

const paramsOf = (path: string, skip: number | string): string[] => [
  `if=${path}`,
  `bs=${BLOCK_BYTES}`,
  'count=1',
  `skip=${skip}`,
];

/**
 * The commands that read a file, as patterns of rpcd's rights. Never `skip=*`: its `*` matches
 * blanks, too, so further arguments would pass.
 */
export const blockCommands = (path: string): string[] =>
  DD_PATHS.flatMap((dd) =>
    ['[0-9]', '[0-9][0-9]'].map((skip) => [dd, ...paramsOf(path, skip)].join(' ')),
  );

const execSchema = z.object({ stdout: z.string().default('') });

/** Why it cannot be read. */
type Unread = { why: string };

/** @throws OpenwrtError */
export const readBlocks = async (
  session: UbusSession,
  path: string,
  signal: AbortSignal,
): Promise<Buffer | Unread> => {
  const blocks: Buffer[] = [];
  while (blocks.length < MAX_BLOCKS) {
    const block = await readBlock(session, path, blocks.length, signal);
    if (!Buffer.isBuffer(block)) return block;
    blocks.push(block);
    if (block.length < BLOCK_BYTES) return Buffer.concat(blocks);
  }
  return { why: `${path} has over ${MAX_BLOCKS * BLOCK_BYTES} bytes` };
};

const readBlock = async (
  session: UbusSession,
  path: string,
  skip: number,
  signal: AbortSignal,
): Promise<Buffer | Unread> => {
  const params = paramsOf(path, skip);
  for (const command of DD_PATHS) {
    const call: UbusCall = { object: 'file', method: 'exec', args: { command, params } };
    const [answer] = await session.attempt([call], { signal, bytes: true });
    // stdout is absent past the end of the file.
    if (codeOf(call, answer) === 0) return bytesOf(checked(call, answer, execSchema).stdout);
  }
  return { why: `the login on OpenWRT may not run dd on ${path}` };
};

/** Blocks are cut anywhere, also within a character: one JavaScript character is one byte here. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');
