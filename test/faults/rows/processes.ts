/** Programs of the product, and OpenWRT, that are killed or stand still. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../run/random.ts';
import type { Row } from '../row.ts';
import type { Program, Target, Fixture } from '../fixture.ts';

const PROGRAMS: readonly Program[] = ['agent', 'coordinator', 'openwrt'];

/** Someone of them; undefined: its container does not run at that moment, and is not hit. */
const killOne = async (
  fixture: Fixture,
  program: Program,
  random: Random,
): Promise<Target | undefined> => {
  const targets = await fixture.targets(program).catch(() => []);
  if (targets.length === 0) return undefined;
  const target = random.pick(targets);
  return fixture.cluster.killContainer(target, 'SIGKILL').then(
    () => target,
    () => undefined,
  );
};

/** Between two kills: from in the middle of a start to in the middle of work. */
const KILL_WITHIN_MS = 1_500;

const kills =
  (program: Program, count: number): Row['run'] =>
  async (fixture, random) => {
    for (let killed = 0; killed < count;) {
      await sleep(random.int(KILL_WITHIN_MS));
      if (await killOne(fixture, program, random)) killed += 1;
    }
  };

/**
 * The kubelet has a container wait twice as long each time, up to a minute: none would be left to
 * kill.
 */
const KILLS_OF_ONE_POD = 5;

const killsOfAll =
  (count: number): Row['run'] =>
  async (fixture, random) => {
    const ofPod = new Map<string, number>();
    for (let killed = 0; killed < count;) {
      await sleep(random.int(KILL_WITHIN_MS));
      const target = await killOne(fixture, random.pick(PROGRAMS), random);
      if (!target) continue;
      killed += 1;
      const { namespace, pod } = target;
      const before = ofPod.get(pod) ?? 0;
      ofPod.set(pod, before + 1);
      if (before + 1 < KILLS_OF_ONE_POD) continue;
      const itsPod = ['delete', 'pod', pod, '-n', namespace, '--ignore-not-found', '--wait=false'];
      await fixture.cluster.kubectl(itsPod, { allowFailure: true });
    }
  };

const stands =
  (program: Program, ms: number): Row['run'] =>
  async (fixture) => {
    const targets = await fixture.targets(program);
    const signalAll = (signal: NodeJS.Signals) =>
      Promise.all(targets.map((target) => fixture.cluster.killContainer(target, signal)));
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
    run: kills('agent', 12),
  },
  {
    id: 'coordinators-killed',
    fault: 'coordinators killed -9, 8 times at random',
    holds: 'no rule leaves early, none stays for ever',
    boundMs: 45_000,
    takesSeconds: 45,
    run: kills('coordinator', 8),
  },
  {
    id: 'openwrt-killed',
    fault: 'OpenWRT killed -9, 8 times at random: it comes back with its factory configuration',
    holds: 'no status says what is not so',
    boundMs: 30_000,
    takesSeconds: 40,
    run: kills('openwrt', 8),
  },
  {
    id: 'killed-300-times',
    fault:
      'agents, coordinators and OpenWRTs killed -9, 300 times at random; after five kills a pod is deleted',
    holds: 'no rule leaves early, none stays for ever; no status says what is not so',
    boundMs: 60_000,
    takesSeconds: 400,
    isLong: true,
    run: killsOfAll(300),
  },
  {
    id: 'all-killed',
    fault: 'agents, coordinators and OpenWRTs killed -9 at once',
    holds: '',
    boundMs: 45_000,
    takesSeconds: 40,
    run: async (fixture) => {
      const all = await Promise.all(PROGRAMS.map((program) => fixture.targets(program)));
      const kill = (target: Target) => fixture.cluster.killContainer(target, 'SIGKILL');
      await Promise.all(all.flat().map(kill));
      await sleep(2_000);
    },
  },
  ...PROGRAMS.flatMap((program) =>
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
