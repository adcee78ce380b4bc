/** What a program finds around it: its clock, its state folder, and another one of its own kind. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Row } from '../row.ts';
import type { Side } from '../surroundings.ts';
import type { Target, Fixture } from '../fixture.ts';

const HOUR_MS = 3_600_000;
const LEDGER = 'ledger.json';

const clockJumps =
  (sides: readonly Side[], offsetMs: number): Row['run'] =>
  async ({ surroundings }) => {
    const set = (ms: number): void => {
      for (const side of sides) surroundings.setClock(side, ms);
    };
    set(offsetMs);
    await sleep(6_000);
    set(0);
    await sleep(500);
  };

/** The agent's emptyDir, as it lies on this machine. */
const stateFolder = ({ cluster }: Fixture, { namespace, pod }: Target): string => {
  const volumes = path.join(cluster.podDirectory(namespace, pod), 'volumes');
  const found = readdirSync(volumes)
    .map((name) => path.join(volumes, name))
    .find((folder) => statSync(path.join(folder, LEDGER), { throwIfNoEntry: false }));
  if (found === undefined) throw new Error(`${pod} has no ${LEDGER} in ${volumes}`);
  return found;
};

const stateFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => path.join(folder, name));

/** Half a file each, and the agent starts anew. */
const stateCorrupt: Row['run'] = async (fixture) => {
  for (const target of await fixture.targets('agent')) {
    const files = stateFiles(stateFolder(fixture, target));
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.slice(0, text.length / 2));
    }
    await fixture.cluster.killContainer(target, 'SIGKILL');
  }
  await sleep(3_000);
};

/** Root may write into a folder whatever its mode, but cannot replace a folder by a file. */
const stateUnwritable: Row['run'] = async (fixture) => {
  const files = (await fixture.targets('agent')).flatMap((target) =>
    stateFiles(stateFolder(fixture, target)),
  );
  const kept = files.map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  for (const { file } of kept) {
    rmSync(file);
    mkdirSync(path.join(file, 'in-the-way'), { recursive: true });
  }
  await sleep(6_000);
  for (const { file, text } of kept) {
    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, text);
  }
};

const running = z.object({
  env: z.record(z.string(), z.string()),
  workingDirectory: z.string(),
  pid: z.number(),
});

/**
 * A second agent with the same environment, state folder and login, as when a runtime has lost
 * sight of the first.
 */
const twoAgents: Row['run'] = async (fixture) => {
  const [target] = await fixture.targets('agent');
  if (!target) throw new Error('there is no agent');
  const pod = fixture.cluster.podDirectory(target.namespace, target.pod);
  const file = path.join(pod, 'containers', target.container, 'running.json');
  const { env, workingDirectory, pid } = running.parse(JSON.parse(readFileSync(file, 'utf8')));
  const [node = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    .split('\0')
    .slice(0, -1);
  const second = spawn(node, args, {
    cwd: workingDirectory,
    env: { ...env, SDEWAN_HTTP_PORT: '0' },
    stdio: 'ignore',
  });
  await sleep(8_000);
  second.kill('SIGKILL');
};

const jumps = (id: string, who: string, sides: readonly Side[]): readonly Row[] =>
  [1, -1].map((sign) => ({
    id: `${id}-clock-${sign > 0 ? 'forward' : 'back'}`,
    fault: `the clock of ${who} jumps ${sign > 0 ? 'forward' : 'back'} by an hour, and right again after 6 s`,
    holds: '',
    boundMs: 30_000,
    takesSeconds: 25,
    run: clockJumps(sides, sign * HOUR_MS),
  }));

/** Seconds of a device of the tests, on a machine that does much else. */
const RELOAD_MS = 1_000;

export const surroundings: readonly Row[] = [
  ...jumps('agents', 'agents', ['agent']),
  ...jumps('coordinators', 'coordinators', ['coordinator']),
  {
    id: 'state-corrupt',
    fault:
      "half of each of the agents' state files, the ledger among them, is lost, and they start anew",
    holds: '',
    boundMs: 30_000,
    takesSeconds: 30,
    run: stateCorrupt,
  },
  {
    id: 'state-unwritable',
    fault: 'agents can write none of their state files for 6 s',
    holds: '',
    boundMs: 30_000,
    takesSeconds: 30,
    run: stateUnwritable,
  },
  {
    id: 'two-agents',
    fault: 'two agents run in one pod for 8 s',
    holds: 'no status is early by more than a reload',
    boundMs: 30_000,
    takesSeconds: 30,
    // One reads what the other has written, and cannot see that the other's reload is still under
    // way.
    earlyMs: RELOAD_MS,
    run: twoAgents,
  },
];
