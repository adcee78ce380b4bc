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
import { packetCases, ZONES, type PacketCase } from './packet-cases.ts';
import { onDevice, PATHS, recordedPath, type Stage } from './stage.ts';

const STATES = ['before', 'created', 'changed', 'deleted'] as const;
type State = (typeof STATES)[number];
type Seen = Record<State, string>;

const given = namedDevice();
const devices = given?.inside && given.peer ? [{ device: given, path: recordedPath(given) }] : [];
const TIMEOUT_MS = 300_000;
const TRIES = 12;
const BETWEEN_TRIES_MS = 400;

const expected = ({ becomes }: PacketCase): Seen => ({ ...becomes, deleted: becomes.before });

const rulesIn = (state: State, { given = [], created, changed }: PacketCase): RuleObject[] => {
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
  const sent = async (packetCase: PacketCase, wanted: string): Promise<string> => {
    for (let at = 1; ; at += 1) {
      const outcome = peers.send(packetCase.probe);
      if (outcome === wanted || at === TRIES) return outcome;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
    }
  };

  it.each(packetCases)(
    '$name',
    async (packetCase) => {
      const wanted = expected(packetCase);
      const seen: Partial<Seen> = {};
      for (const state of STATES) {
        await stage.pass.run(rulesIn(state, packetCase));
        seen[state] = await sent(packetCase, wanted[state]);
      }
      await stage.pass.run([...ZONES, ...(packetCase.given ?? []).map(gone)]);
      const { before = '', created = '', changed = '', deleted = '' } = seen;
      found[packetCase.name] = { before, created, changed, deleted };
      expect(found[packetCase.name]).toEqual({ ...wanted, ...knownPackets(path, packetCase.name) });
    },
    TIMEOUT_MS,
  );
});

describe.each(given ? [] : PATHS)('packets, as recorded: %s', (path) => {
  it.each(packetCases)('$name', (packetCase) => {
    const seen = readKernelRecording(path)?.packets?.[packetCase.name];
    expect(seen).toEqual({
      ...expected(packetCase),
      ...knownPackets(path, packetCase.name),
    });
  });
});
