/**
 * A CNF's pod with its two containers, and what its kubelet makes of them: starts, restarts, and a
 * status that comes late.
 */
import { AGENT_CONTAINER, PURPOSE_ENV, PURPOSE_LABEL } from '#shared/names.ts';
import { emptyState, startAgent, type AgentSurroundings } from './agent.ts';
import type { ApiServer } from './api-server.ts';
import { createDevice, type Device } from './device.ts';
import { createProcess, type Process } from './process.ts';
import type { Time } from './time.ts';

export type PodOptions = {
  time: Time;
  server: ApiServer;
  name: string;
  purpose: string;
  random: () => number;
  onDevice: () => void;
  surroundings: (
    process: Process,
    uid: string,
  ) => Omit<AgentSurroundings, 'process' | 'driver' | 'state' | 'purpose'>;
};

export type Pod = {
  name: string;
  purpose: string;
  uid: string;
  /** On the time of the walk. */
  createdAt: number;
  device: Device;
  agent: () => Process;
  isAgentUp: () => boolean;
  /** kill -9 of the agent's process; the kubelet starts it again. */
  restartAgent: (afterMs: number) => void;
  /** The container of OpenWRT ends, and begins anew from its image. */
  restartOpenwrt: (afterMs: number) => void;
  /** As `kubectl delete` does it, or with `--force`. */
  remove: (graceMs: number, force: boolean) => void;
  /** All is as it should be again. */
  heal: () => void;
};

export const PODS = '/pods';
const OWNER = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'cnf',
  uid: 'uid-of-cnf',
  controller: true,
};
const LOOK_MS = 1_000;

type Run = { startedAt: string | undefined; restarts: number };

export const startPod = (options: PodOptions): Pod => {
  const { time, server, name, purpose, random } = options;
  const labels = { [PURPOSE_LABEL]: purpose };
  const { metadata } = server.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels, finalizers: ['kubelet'], ownerReferences: [OWNER] },
    spec: {
      nodeName: 'node',
      containers: [{ name: 'openwrt' }],
      initContainers: [{ name: AGENT_CONTAINER, env: [{ name: PURPOSE_ENV, value: purpose }] }],
    },
  });
  const { uid } = metadata;
  let isGone = false;
  let isTerminating = false;
  const state = emptyState();
  const device = createDevice({
    time,
    reloadMs: () => 20 + random() * 400,
    onChange: options.onDevice,
  });
  device.isUp = false;
  let process = createProcess(time);
  process.kill();
  let isReady = (): boolean => false;
  const runs = {
    agent: { startedAt: undefined, restarts: 0 } as Run,
    openwrt: { startedAt: undefined, restarts: 0 } as Run,
  };
  /** Its container runs, whether or not its rpcd answers. */
  let openwrtUpSince = Infinity;
  let lastPost = '';
  let postedAt = 0;

  const statusNow = () => {
    const ready = isReady() && time.monotonic() - openwrtUpSince >= LOOK_MS;
    const containerOf = (container: string, { startedAt, restarts }: Run, isUp: boolean) => ({
      name: container,
      ready: isUp,
      restartCount: restarts,
      state: isUp ? { running: { startedAt } } : { waiting: { reason: 'CrashLoopBackOff' } },
      ...(!isUp && startedAt !== undefined && { lastState: { terminated: { startedAt } } }),
    });
    return {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      initContainerStatuses: [containerOf(AGENT_CONTAINER, runs.agent, process.isAlive())],
      containerStatuses: [containerOf('openwrt', runs.openwrt, openwrtUpSince < Infinity)],
    };
  };

  /** What there was is posted, in order, each time late. */
  const post = (): void => {
    const status = statusNow();
    const text = JSON.stringify(status);
    if (text === lastPost) return;
    lastPost = text;
    const lag = random() < 0.05 ? random() * 10_000 : random() * 1_000;
    postedAt = Math.max(postedAt, time.monotonic() + lag);
    time.after(postedAt - time.monotonic(), () => {
      if (server.get(PODS, name)?.metadata.uid !== uid) return;
      server.update(PODS, name, (pod) => ({ ...pod, status }));
    });
  };

  /** The runtime takes the time a little late; the kubelet reports whole seconds of it. */
  const stamp = (): string => {
    const late = random() < 0.1 ? random() * 900 : random() * 30;
    return new Date(time.now() + late).toISOString().replace(/\.\d+Z$/, 'Z');
  };

  const startAgentNow = (): void => {
    if (isGone || isTerminating || process.isAlive()) return;
    runs.agent.startedAt = stamp();
    process = createProcess(time);
    const own = process;
    isReady = startAgent({
      ...options.surroundings(own, uid),
      process: own,
      driver: device.driverFor(own),
      state,
      purpose,
    });
    post();
  };
  const startOpenwrtNow = (): void => {
    if (isGone || isTerminating || device.isUp) return;
    runs.openwrt.startedAt = stamp();
    device.startAnew();
    device.isUp = true;
    openwrtUpSince = time.monotonic();
    post();
  };
  const look = (): void => {
    if (isGone) return;
    if (!isTerminating) post();
    time.after(LOOK_MS, look);
  };
  time.after(50 + random() * 500, () => {
    startAgentNow();
    time.after(random() * 1_500, startOpenwrtNow);
    look();
  });

  const end = (): void => {
    process.kill();
    isReady = () => false;
    device.isUp = false;
    isGone = true;
    if (server.get(PODS, name)?.metadata.uid === uid) server.vanish(PODS, name);
  };

  const pod: Pod = {
    name,
    purpose,
    uid,
    createdAt: time.monotonic(),
    device,
    agent: () => process,
    isAgentUp: () => process.isAlive(),
    restartAgent: (afterMs) => {
      if (!process.isAlive()) return;
      process.kill();
      isReady = () => false;
      runs.agent.restarts += 1;
      post();
      time.after(afterMs, startAgentNow);
    },
    restartOpenwrt: (afterMs) => {
      if (!device.isUp) return;
      device.isUp = false;
      device.hangs = false;
      runs.openwrt.restarts += 1;
      openwrtUpSince = Infinity;
      post();
      time.after(afterMs, startOpenwrtNow);
    },
    remove: (graceMs, force) => {
      if (isTerminating) return;
      isTerminating = true;
      if (force) server.vanish(PODS, name);
      else server.delete(PODS, name);
      time.after(graceMs / 2, () => process.stopping.abort());
      time.after(graceMs, end);
    },
    heal: () => {
      device.hangs = false;
      device.refuses = new Set();
      process.thaw();
    },
  };
  return pod;
};
