/**
 * What a pod's uplink is on a real node: each agent reaches the API server and the coordinators
 * through proxies of its own pod, which drop what the rules on the pod's own OpenWRT drop. Agents
 * of pods with `UPLINK_AGENT_IMAGE` live behind it.
 */
import { createServer, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from 'kind-test-harness';
import { readUci, type DeviceSection } from '../openwrt/checks/uci.ts';
import { AGENT_IMAGE, images } from '../stack/images.ts';
import { readConfigFile } from '../stack/observe.ts';
import { TcpProxy } from './tcp-proxy.ts';

export const UPLINK_AGENT_IMAGE = 'sdewan-agent:behind-an-uplink';

const LOADED_FIRST = path.join(import.meta.dirname, 'surroundings.mjs');
const LOOK_EVERY_MS = 25;

/** What does not get through. */
export type Cut = 'nothing' | 'coordinators' | 'all';

/** `at`: milliseconds since 1970. */
type Change = { at: number; cut: Cut };

export type Uplinks = {
  /** What a pod's firewall drops, by its sections; for all pods, from now on. */
  drop: (cutBy: (firewall: readonly DeviceSection[]) => Cut) => void;
  /** What was dropped of this pod: each change of it, oldest first. */
  history: (pod: string) => readonly Change[];
  stop: () => Promise<void>;
};

type Uplink = {
  target: { namespace: string; pod: string };
  apiServer: TcpProxy;
  coordinators: readonly TcpProxy[];
  history: Change[];
};

/** To be called before the CNFs are created. */
export const createUplinks = async (cluster: Cluster): Promise<Uplinks> => {
  /** By pod. */
  const uplinks = new Map<string, Uplink>();
  let cutBy: Parameters<Uplinks['drop']>[0] = () => 'nothing';

  /** An agent that starts again has the proxies of the one before. */
  const uplinkOf = async (namespace: string, pod: string, urls: string): Promise<Uplink> => {
    const known = uplinks.get(pod);
    if (known !== undefined) return known;
    const [apiServer, coordinators] = await Promise.all([
      TcpProxy.start(cluster.server),
      Promise.all(urls.split(',').map((url) => TcpProxy.start(url))),
    ]);
    const made = { target: { namespace, pod }, apiServer, coordinators, history: [] };
    uplinks.set(pod, made);
    return made;
  };

  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const [, namespace = '', pod = ''] = (request.url ?? '').split('/');
      const uplink = await uplinkOf(namespace, pod, await bodyOf(request));
      const [apiServer, ...coordinators] = [uplink.apiServer, ...uplink.coordinators].map(
        ({ port }) => port,
      );
      response.end(JSON.stringify({ apiServer, coordinators }));
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  const look = async ({ target, apiServer, coordinators, history }: Uplink): Promise<void> => {
    const text = await readConfigFile(cluster, target, 'firewall');
    const sections = text === undefined ? undefined : sectionsIn(text);
    if (sections === undefined) return;
    const cut = cutBy(sections);
    apiServer.setDropping(cut === 'all');
    for (const each of coordinators) {
      each.setDropping(cut !== 'nothing');
      // The agent only looks whether a coordinator takes a connection, and a proxy that drops takes
      // it.
      each.setListening(cut === 'nothing');
    }
    if (history.at(-1)?.cut !== cut) history.push({ at: Date.now(), cut });
  };
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await Promise.all([...uplinks.values()].map(look));
      await sleep(LOOK_EVERY_MS);
    }
  };
  const following = follow();

  const { command, env, ...more } = images()[AGENT_IMAGE] ?? { command: [] };
  const [node = '', ...rest] = command;
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  cluster.registerImages({
    [UPLINK_AGENT_IMAGE]: {
      ...more,
      command: [node, '--import', LOADED_FIRST, ...rest],
      env: { ...env, SDEWAN_TEST_UPLINKS: String(port) },
    },
  });

  return {
    drop: (next) => {
      cutBy = next;
    },
    history: (pod) => uplinks.get(pod)?.history ?? [],
    stop: async () => {
      stopping.abort();
      await following;
      server.close();
      const proxies = [...uplinks.values()].flatMap((each) => [
        each.apiServer,
        ...each.coordinators,
      ]);
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
};

/** Undefined: it is being written, and will be read at the next look. */
const sectionsIn = (text: string): readonly DeviceSection[] | undefined => {
  try {
    return readUci(text);
  } catch {
    return undefined;
  }
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
};
