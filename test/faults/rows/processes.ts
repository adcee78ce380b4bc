/** Programs of the product, and OpenWRT, that are killed or stand still. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../run/random.ts';
import type { Row } from '../row.ts';
import type { Program, Target, World } from '../world.ts';

/** Someone of them, at a random time; a container that does not run at that moment is not hit. */
const signalOne = async (
  world: World,
  program: Program,
  { random, signal }: { random: Random; signal: NodeJS.Signals },
): Promise<boolean> => {
  const targets = await world.targets(program).catch(() => []);
  if (targets.length === 0) return false;
  return world.cluster.killContainer(random.pick(targets), signal).then(
    () => true,
    () => false,
  );
};

/** Between two kills: from in the middle of a start to in the middle of work. */
const KILL_WITHIN_MS = 1_500;

const kills =
  (count: number, ...programs: readonly Program[]): Row['run'] =>
  async (world, random) => {
    for (let killed = 0; killed < count;) {
      await sleep(random.int(KILL_WITHIN_MS));
      const program = random.pick(programs);
      if (await signalOne(world, program, { random, signal: 'SIGKILL' })) killed += 1;
    }
  };

const stands =
  (program: Program, ms: number): Row['run'] =>
  async (world) => {
    const targets = await world.targets(program);
    const signalAll = (signal: NodeJS.Signals) =>
      Promise.all(targets.map((target) => world.cluster.killContainer(target, signal)));
    await sleep(1_000);
    await signalAll('SIGSTOP');
    await sleep(ms);
    // One that was replaced meanwhile is gone.
    await signalAll('SIGCONT').catch(() => undefined);
  };

export const processes: readonly Row[] = [
  {
    id: 'agents-killed',
    fault: 'agents killed -9, 12 times at random',
    holds: 'what they had begun is completed or undone',
    boundMs: 30_000,
    takesSeconds: 40,
    run: kills(12, 'agent'),
  },
  {
    id: 'coordinators-killed',
    fault: 'coordinators killed -9, 8 times at random',
    holds: 'no rule leaves early, none stays for ever',
    boundMs: 45_000,
    takesSeconds: 45,
    run: kills(8, 'coordinator'),
  },
  {
    id: 'openwrt-killed',
    fault: 'OpenWRT killed -9, 8 times at random: it comes back with its factory configuration',
    holds: 'no status says what is not so',
    boundMs: 30_000,
    takesSeconds: 40,
    run: kills(8, 'openwrt'),
  },
  {
    id: 'killed-300-times',
    fault: 'agents, coordinators and OpenWRTs killed -9, 300 times at random',
    holds: 'no rule leaves early, none stays for ever; no status says what is not so',
    boundMs: 60_000,
    takesSeconds: 400,
    isLong: true,
    run: kills(300, 'agent', 'coordinator', 'openwrt'),
  },
  {
    id: 'all-killed',
    fault: 'agents, coordinators and OpenWRTs killed -9 at once',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: async (world) => {
      const all = await Promise.all(
        (['agent', 'coordinator', 'openwrt'] as const).map((program) => world.targets(program)),
      );
      const kill = (target: Target) => world.cluster.killContainer(target, 'SIGKILL');
      await Promise.all(all.flat().map(kill));
      await sleep(2_000);
    },
  },
  ...(['agent', 'coordinator', 'openwrt'] as const).flatMap((program) =>
    [5, 60].map((seconds): Row => {
      const name = { agent: 'agents', coordinator: 'coordinators', openwrt: 'openwrt' }[program];
      return {
        id: `${name}-stand-${seconds}s`,
        fault: `all ${program === 'openwrt' ? 'OpenWRTs' : name} stand still for ${seconds} s`,
        holds: '',
        boundMs: 45_000,
        takesSeconds: seconds + 25,
        ...(seconds > 5 && { isLong: true as const }),
        run: stands(program, seconds * 1_000),
      };
    }),
  ),
];
