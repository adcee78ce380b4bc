import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadKubeConfig } from './config.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'config-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const write = (name: string, text: string): Promise<void> => writeFile(join(directory, name), text);

describe('in a pod', () => {
  const source = () => ({
    serviceHost: '10.0.0.1',
    servicePort: '443',
    serviceAccountDir: directory,
  });

  beforeEach(async () => {
    await write('token', 'one\n');
    await write('ca.crt', 'CA 1');
    await write('namespace', 'site-1\n');
  });

  it('takes address, namespace, token and CA from where the kubelet puts them', async () => {
    const config = await loadKubeConfig(source());
    expect(config.server).toBe('https://10.0.0.1:443');
    expect(config.namespace).toBe('site-1');
    expect(await config.headers()).toEqual({ authorization: 'Bearer one' });
    expect(await config.tls()).toEqual({ ca: 'CA 1' });
  });

  it('uses a rotated CA at the next connection, and a rotated token when the old one is refused', async () => {
    const config = await loadKubeConfig(source());
    await write('token', 'two');
    await write('ca.crt', 'CA 2');
    expect(await config.tls()).toEqual({ ca: 'CA 2' });
    expect(await config.headers()).toEqual({ authorization: 'Bearer one' });
    config.expire();
    expect(await config.headers()).toEqual({ authorization: 'Bearer two' });
  });

  it('writes an IPv6 address as URLs have it', async () => {
    const config = await loadKubeConfig({ ...source(), serviceHost: 'fd00::1' });
    expect(config.server).toBe('https://[fd00::1]:443');
  });

  it('does without a namespace, but not without a token', async () => {
    await rm(join(directory, 'namespace'));
    expect((await loadKubeConfig(source())).namespace).toBeUndefined();
    await rm(join(directory, 'token'));
    await expect(loadKubeConfig(source())).rejects.toThrow('token');
  });
});

describe('with a kubeconfig', () => {
  const kubeconfig = (user: object, cluster: object = {}): string =>
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://api:6443/', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'ns' } }],
      'current-context': 'x',
    });
  const load = async (user: object, cluster?: object, more: object = {}) => {
    await write('kubeconfig', kubeconfig(user, cluster));
    return loadKubeConfig({ kubeconfig: join(directory, 'kubeconfig'), ...more });
  };

  it('takes its server, namespace and token', async () => {
    const config = await load({ token: 't' });
    expect(config).toMatchObject({ server: 'https://api:6443', namespace: 'ns' });
    expect(await config.headers()).toEqual({ authorization: 'Bearer t' });
  });

  it('takes certificates, and files relative to it', async () => {
    await write('ca.pem', 'CA');
    const data = (text: string): string => Buffer.from(text).toString('base64');
    const user = { 'client-certificate-data': data('CERT'), 'client-key-data': data('KEY') };
    const config = await load(user, {
      'certificate-authority': 'ca.pem',
      'tls-server-name': 'api',
    });
    const { ca, cert, key, servername } = await config.tls();
    expect([ca, cert, key].map(String)).toEqual(['CA', 'CERT', 'KEY']);
    expect(servername).toBe('api');
    expect(await config.headers()).toEqual({});
  });

  it('asks a credential plugin', async () => {
    const credential = JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'made' },
    });
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'echo',
      args: [credential],
    };
    const config = await load({ exec });
    expect(await config.headers()).toEqual({ authorization: 'Bearer made' });
  });

  it('goes through a proxy in the program that people run, and is refused elsewhere', async () => {
    const asked: unknown[] = [];
    const tunnel = { open: () => Promise.reject(new Error('none')) };
    const tunnelTo = (server: URL, proxyUrl: string | undefined) => {
      asked.push([server.href, proxyUrl]);
      return proxyUrl === undefined ? undefined : tunnel;
    };
    const through = { 'proxy-url': 'http://p' };
    expect((await load({}, through, { tunnelTo })).tunnel).toBe(tunnel);
    expect((await load({}, {}, { tunnelTo })).tunnel).toBeUndefined();
    expect(asked).toEqual([
      ['https://api:6443/', 'http://p'],
      ['https://api:6443/', undefined],
    ]);
    await expect(load({}, through)).rejects.toThrow('proxy-url is not supported');
  });
});

describe('with a list of kubeconfigs', () => {
  const part = (name: string, more: object = {}): string =>
    JSON.stringify({
      clusters: [{ name: `cluster-${name}`, cluster: { server: `https://${name}:6443` } }],
      users: [{ name: 'admin', user: { token: `token-of-${name}` } }],
      contexts: [
        {
          name: `ctx-${name}`,
          context: { cluster: `cluster-${name}`, user: 'admin', namespace: name },
        },
      ],
      ...more,
    });
  const load = (files: readonly string[], context?: string) =>
    loadKubeConfig({ kubeconfig: files.map((file) => join(directory, file)).join(':'), context });

  it('takes of two of one name the first, a context of either, and leaves out what is missing, empty or named twice', async () => {
    await write('a', part('a', { 'current-context': 'ctx-a' }));
    await write('b', part('b', { 'current-context': 'ctx-b' }));
    await write('empty', '');
    const list = ['missing', 'a', 'empty', 'b', 'a'];
    expect(await load(list)).toMatchObject({ server: 'https://a:6443', context: 'ctx-a' });
    const other = await load(list, 'ctx-b');
    expect(other).toMatchObject({ server: 'https://b:6443', namespace: 'b' });
    expect(await other.headers()).toEqual({ authorization: 'Bearer token-of-a' });
  });

  it('takes the current context of the first file that has one', async () => {
    await write('a', part('a'));
    await write('b', part('b', { 'current-context': 'ctx-b' }));
    expect(await load(['a', 'b'])).toMatchObject({ server: 'https://b:6443' });
  });

  it('names a file where none of them is there', async () => {
    await expect(load(['x', 'y'])).rejects.toThrow('x');
  });
});

it('says what to set when there is neither', async () => {
  await expect(loadKubeConfig({})).rejects.toThrow('set KUBECONFIG, or KUBERNETES_SERVICE_HOST');
});
