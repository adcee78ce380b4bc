/** Tables of policies in the kernel of this machine, where that is possible without root. */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';

const OWN = ['-rn'];

/** Not everywhere may any user make namespaces. */
export const CAN_REPLAY = spawnSync('unshare', [...OWN, 'nft', 'list', 'ruleset']).status === 0;

/** By `from to`, addresses of pods: packets. */
type Counts = Readonly<Record<string, number>>;
export type Replay = { tables: readonly string[]; from: readonly string[]; to: readonly string[] };

/** As `replay.mjs` says. @throws with its words */
export const replayed = (replay: Replay): Promise<{ sent: Counts; arrived: Counts }> =>
  new Promise((resolve, reject) => {
    const argv = [...OWN, process.execPath, join(import.meta.dirname, 'replay.mjs')];
    const child = execFile('unshare', argv, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr || error.message));
      else resolve(JSON.parse(stdout));
    });
    child.stdin?.end(JSON.stringify(replay));
  });
