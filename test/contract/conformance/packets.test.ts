/**
 * Packets obey: what becomes of one while a rule is there, once it is changed, and once it is gone.
 * On the device that the run was given with `--peer`, else as the recording of such a run has it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { knownPackets } from './known.ts';
import { readKernelRecording, writeKernelRecording } from './kernel-recording.ts';
import { deleted as gone } from '../agent/support/pass.ts';
import { namedDevice } from './named-device.ts';
import { openPeers, type Peers } from './peers.ts';
import { scenes, ZONES, type Scene } from './scenes.ts';
import { onDevice, PATHS, recordedPath, type Stage } from './stage.ts';

const STATES = ['before', 'created', 'changed', 'deleted'] as const;
type State = (typeof STATES)[number];
type Seen = Record<State, string>;

const given = namedDevice();
const devices = given?.inside && given.peer ? [{ device: given, path: recordedPath(given) }] : [];
const TIMEOUT_MS = 300_000;
const TRIES = 12;
const BETWEEN_TRIES_MS = 400;

const expected = ({ becomes }: Scene): Seen => ({ ...becomes, deleted: becomes.before });

const rulesIn = (state: State, { given = [], created, changed }: Scene): RuleObject[] => {
  const now = state === 'created' ? created : changed;
  const others = [...ZONES, ...given];
  if (state === 'before') return others;
  return [...others, ...(state === 'deleted' ? now.map(gone) : now)];
};

describe.each(devices)('packets on $device.url, $path', ({ device, path }) => {
  const found: Record<string, Seen> = {};
  let stage: Stage;
  let peers: Peers;

  beforeAll(async () => {
    stage = await onDevice(device);
    peers = openPeers(device);
  });
  afterAll(async () => {
    await stage.pass.run(ZONES.map(gone));
    peers.leave();
    await stage.leave();
    const recording = readKernelRecording(path);
    if (process.env['UPDATE'] === '1' && recording)
      writeKernelRecording(path, { ...recording, packets: { ...recording.packets, ...found } });
  });

  /** A device goes on by itself for a while: what becomes of a packet in the end. */
  const sent = async (scene: Scene, wanted: string): Promise<string> => {
    for (let at = 1; ; at += 1) {
      const outcome = peers.send(scene.probe);
      if (outcome === wanted || at === TRIES) return outcome;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
    }
  };

  it.each(scenes)(
    '$name',
    async (scene) => {
      const wanted = expected(scene);
      const seen: Partial<Seen> = {};
      for (const state of STATES) {
        await stage.pass.run(rulesIn(state, scene));
        seen[state] = await sent(scene, wanted[state]);
      }
      await stage.pass.run([...ZONES, ...(scene.given ?? []).map(gone)]);
      const { before = '', created = '', changed = '', deleted = '' } = seen;
      found[scene.name] = { before, created, changed, deleted };
      expect(found[scene.name]).toEqual({ ...wanted, ...knownPackets(path, scene.name) });
    },
    TIMEOUT_MS,
  );
});

describe.each(given ? [] : PATHS)('packets, as recorded: %s', (path) => {
  it.each(scenes)('$name', (scene) => {
    const seen = readKernelRecording(path)?.packets?.[scene.name];
    expect(seen).toEqual({
      ...expected(scene),
      ...knownPackets(path, scene.name),
    });
  });
});
