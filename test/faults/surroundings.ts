/**
 * What lies between the programs of the product and their surroundings: their clocks, and their
 * ways to the API server, which tests can change.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Cluster, ImageProcess } from 'kind-test-harness';
import { AGENT_IMAGE, COORDINATOR_IMAGE, images } from '../stack/images.ts';
import { TcpProxy } from './tcp-proxy.ts';

const LOADED_FIRST = path.join(import.meta.dirname, 'surroundings.mjs');

export type Side = 'agent' | 'coordinator';

export type Surroundings = {
  /** All programs of that side: their wall clock goes wrong by so much; 0: right again. */
  setClock: (side: Side, offsetMs: number) => void;
  /** Between the programs of that side and the API server. */
  proxy: (side: Side) => TcpProxy;
  stop: () => Promise<void>;
};

/** `image`: programs run with the flags of their images, which keep their memory small. */
export type SurroundingsOptions = { flags?: 'image' | 'none' };

const imageFlags = (side: Side): string[] => {
  const text = readFileSync(path.join(import.meta.dirname, `../../Dockerfile.${side}`), 'utf8');
  return [...text.matchAll(/"(--[\w=-]+)"/g)].map(([, flag = '']) => flag);
};

/** To be called before the product is installed: what is started from then on lives in it. */
export const createSurroundings = async (
  cluster: Cluster,
  { flags = 'none' }: SurroundingsOptions = {},
): Promise<Surroundings> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-surroundings-'));
  const clockOf = (side: Side): string => path.join(folder, `${side}-clock`);
  const proxies = {
    agent: await TcpProxy.start(cluster.server),
    coordinator: await TcpProxy.start(cluster.server),
  };
  const all = images();
  const within = (image: string, side: Side): Record<string, ImageProcess> => {
    const { command, env, ...more } = all[image] ?? { command: [] };
    const [node = '', ...rest] = command;
    return {
      [image]: {
        ...more,
        command: [
          node,
          ...(flags === 'image' ? imageFlags(side) : []),
          '--import',
          LOADED_FIRST,
          ...rest,
        ],
        env: {
          ...env,
          SDEWAN_TEST_CLOCK: clockOf(side),
          SDEWAN_TEST_API_PORT: String(proxies[side].port),
        },
      },
    };
  };
  cluster.registerImages({
    ...within(AGENT_IMAGE, 'agent'),
    ...within(COORDINATOR_IMAGE, 'coordinator'),
  });
  return {
    setClock: (side, offsetMs) => writeFileSync(clockOf(side), String(offsetMs)),
    proxy: (side) => proxies[side],
    stop: async () => {
      await Promise.all(Object.values(proxies).map((proxy) => proxy.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
