/** The OpenWRT of a pod, asked without its agent; and an administrator who changes it. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Cluster } from 'kind-test-harness';

const TIMEOUT_MS = 10_000;

/** `put`: the text to be written there. */
export const askOpenwrt = async (
  cluster: Cluster,
  { namespace, pod, path, put }: { namespace: string; pod: string; path: string; put?: string },
): Promise<string> => {
  const ip = ['get', 'pod', pod, '-n', namespace, '-o', 'jsonpath={.status.podIP}'];
  const { stdout: host } = await cluster.kubectl(ip);
  return new Promise((resolve, reject) => {
    const to = { host, port: 10_080, path: `/_simulator${path}`, timeout: TIMEOUT_MS };
    const method = put === undefined ? 'GET' : 'PUT';
    const sent = request({ ...to, method }, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error('timeout')));
    sent.end(put);
  });
};

const MWAN3 = '/config/mwan3';

/** mwan3 has an interface on that network from now on. */
export const bringInterface = async (
  cluster: Cluster,
  at: { namespace: string; pod: string },
  network: string,
): Promise<void> => {
  const before = await askOpenwrt(cluster, { ...at, path: MWAN3 });
  const added = `config interface '${network}'\n\toption enabled '1'\n\toption family 'ipv4'\n`;
  await askOpenwrt(cluster, { ...at, path: MWAN3, put: `${before}\n${added}` });
};

export const hasPolicy = async (
  cluster: Cluster,
  at: { namespace: string; pod: string },
  name: string,
): Promise<boolean> =>
  (await askOpenwrt(cluster, { ...at, path: MWAN3 })).includes(`config policy '${name}'`);
