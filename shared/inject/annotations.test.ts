import { describe, expect, it } from 'vitest';
import { readOptions, settings } from './annotations.ts';
import type { InjectOptions } from './options.ts';
import type { PodTemplate } from './pod.ts';

const defaults: InjectOptions = {
  image: 'sdewan-agent:test',
  coordinatorUrl: 'https://sdewan-coordinator.sdewan-system.svc',
  coordinatorCaConfigMap: 'sdewan-coordinator-ca',
  openwrtUrl: 'http://127.0.0.1:80',
  driver: 'auto',
  ownLogin: true,
  logLevel: 'info',
  resources: { requests: { memory: '64Mi' }, limits: { memory: '128Mi' } },
};

const template = (
  annotations: Record<string, string>,
  labels: Record<string, string> = {},
): PodTemplate => ({
  metadata: { labels: { sdewanPurpose: 'cnf-1', ...labels }, annotations },
  spec: { containers: [{ name: 'openwrt' }] },
});

const agent = (name: string): string => `sdewan.akraino.org/agent-${name}`;

describe('annotations of a CNF', () => {
  it.each<[string, string, Partial<InjectOptions>]>([
    [
      'image',
      'registry.example:5000/a/b@sha256:0123456789abcdef',
      { image: 'registry.example:5000/a/b@sha256:0123456789abcdef' },
    ],
    ['driver', 'ubus', { driver: 'ubus' }],
    ['openwrt-url', 'https://127.0.0.1:443', { openwrtUrl: 'https://127.0.0.1:443' }],
    ['openwrt-server-name', 'cnf.example', { openwrtServerName: 'cnf.example' }],
    ['openwrt-container', 'sdewan', { openwrtContainer: 'sdewan' }],
    ['login-secret', 'cnf-login', { loginSecret: 'cnf-login' }],
    ['ca-secret', 'cnf-ca', { openwrtCaSecret: 'cnf-ca' }],
    ['log-level', 'debug', { logLevel: 'debug' }],
    [
      'cpu-request',
      '10m',
      { resources: { requests: { memory: '64Mi', cpu: '10m' }, limits: { memory: '128Mi' } } },
    ],
    [
      'cpu-limit',
      '1',
      { resources: { requests: { memory: '64Mi' }, limits: { memory: '128Mi', cpu: '1' } } },
    ],
    [
      'memory-request',
      '96Mi',
      { resources: { requests: { memory: '96Mi' }, limits: { memory: '128Mi' } } },
    ],
    [
      'memory-limit',
      '1Gi',
      { resources: { requests: { memory: '64Mi' }, limits: { memory: '1Gi' } } },
    ],
  ])('%s: %s', (name, value, changed) => {
    expect(readOptions(template({ [agent(name)]: value }), defaults)).toEqual({
      options: { ...defaults, ...changed },
    });
  });

  it.each(Object.keys(settings))(
    '%s with a value out of range is refused, with the allowed values',
    (name) => {
      for (const value of ['', ' ', 'a b', '$(id)', '../x', 'x\ny']) {
        const read = readOptions(template({ [agent(name)]: value }), defaults);
        expect(read).toEqual({
          problems: [
            `annotation ${agent(name)}: ${JSON.stringify(value)} must be ${settings[name]?.allowed}`,
          ],
        });
      }
    },
  );

  it.each(['imge', 'toString', 'constructor', '__proto__'])(
    'are named with the known ones when they are misspelt: %s',
    (name) => {
      const read = readOptions(template({ [agent(name)]: 'a' }), defaults);
      expect('problems' in read && read.problems[0]).toContain(
        `${agent(name)} is unknown; known annotations are ${agent('image')}`,
      );
    },
  );

  it('ignores those of other projects', () => {
    const others = { 'example.org/agent-image': '!', 'sdewan.akraino.org/order': '3' };
    expect(readOptions(template(others), defaults)).toEqual({ options: defaults });
  });

  it('name every problem at once', () => {
    const read = readOptions(
      template({
        [agent('driver')]: 'telnet',
        'sdewan.akraino.org/inject': 'no',
        'sdewan.akraino.org/without-webhook': 'yes',
        'sdewan.akraino.org/policy-networks': 'cluster,net9',
      }),
      defaults,
    );
    expect(read).toEqual({
      problems: [
        'annotation sdewan.akraino.org/inject: "no" must be one of true, false',
        'annotation sdewan.akraino.org/without-webhook: "yes" must be one of true, false',
        'annotation sdewan.akraino.org/policy-networks: "net9" must be one of cluster',
        `annotation ${agent('driver')}: "telnet" must be one of auto, ubus, icn`,
      ],
    });
  });
});

describe("ICN's labels of a CNF", () => {
  it('name the Secrets, and annotations win over them', () => {
    const labels = { 'cnf-account-secret': 'account', 'cnf-cert-secret': 'cert' };
    expect(readOptions(template({}, labels), defaults)).toEqual({
      options: { ...defaults, loginSecret: 'account', openwrtCaSecret: 'cert' },
    });
    expect(readOptions(template({ [agent('login-secret')]: 'mine' }, labels), defaults)).toEqual({
      options: { ...defaults, loginSecret: 'mine', openwrtCaSecret: 'cert' },
    });
  });

  it('names one with a value that no Secret can have', () => {
    const read = readOptions(template({}, { 'cnf-account-secret': 'Not_a_Secret' }), defaults);
    expect('problems' in read && read.problems[0]).toContain('cnf-account-secret');
  });
});

describe('the login', () => {
  const named = (annotations: Record<string, string>) =>
    template({ ...annotations, [agent('login-secret')]: 'root' });

  it('takes a Secret in place of its own', () => {
    expect(readOptions(named({ [agent('own-login')]: 'false' }), defaults)).toEqual({
      options: { ...defaults, loginSecret: 'root', ownLogin: false },
    });
  });

  it('does not make its own for the icn driver, which knows only root', () => {
    expect(readOptions(named({ [agent('driver')]: 'icn' }), defaults)).toEqual({
      options: { ...defaults, driver: 'icn', loginSecret: 'root', ownLogin: false },
    });
  });

  it.each([
    ['driver', 'icn', "icn needs root's login"],
    ['own-login', 'false', '"false" needs another login'],
  ])('lacks something with %s: %s is told, with where to name it', (name, value, why) => {
    expect(readOptions(template({ [agent(name)]: value }), defaults)).toEqual({
      problems: [
        `annotation ${agent(name)}: ${why}: name its Secret in annotation ${agent('login-secret')} or label cnf-account-secret`,
      ],
    });
  });
});
