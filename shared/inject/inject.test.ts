import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inject, injectAnnotated, isInjected, uninject } from './inject.ts';
import type { InjectOptions } from './options.ts';
import type { PodTemplate, VolumeMount } from './pod.ts';

const options: InjectOptions = {
  image: 'sdewan-agent:test',
  coordinatorUrl: 'https://sdewan-coordinator.sdewan-system.svc',
  coordinatorCaConfigMap: 'sdewan-coordinator-ca',
  openwrtUrl: 'http://127.0.0.1:80',
  driver: 'auto',
  ownLogin: false,
  loginSecret: 'cnf-login',
  logLevel: 'info',
  resources: { requests: { memory: '64Mi' }, limits: { memory: '128Mi' } },
};

const cnf = (): PodTemplate => ({
  metadata: { labels: { sdewanPurpose: 'cnf-1' }, annotations: { a: 'b' } },
  spec: {
    serviceAccountName: 'cnf',
    initContainers: [{ name: 'prepare', image: 'busybox' }],
    containers: [{ name: 'sdewan', image: 'openwrt' }],
    volumes: [{ name: 'config', emptyDir: {} }],
  },
});

const evictable = (volumes = 'sdewan-state'): Record<string, string> => ({
  'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': volumes,
});

describe('inject', () => {
  it('puts the agent first among the init containers, as a native sidecar', () => {
    const { spec } = inject(cnf(), options);
    expect(spec.initContainers?.map(({ name }) => name)).toEqual(['sdewan-agent', 'prepare']);
    expect(spec.initContainers?.[0]?.restartPolicy).toBe('Always');
  });

  it('leaves everything else as it was', () => {
    const { spec, metadata } = inject(cnf(), options);
    expect(metadata).toEqual({
      labels: { sdewanPurpose: 'cnf-1' },
      annotations: { a: 'b', ...evictable() },
    });
    expect(spec.containers).toEqual(cnf().spec.containers);
    expect(spec['serviceAccountName']).toBe('cnf');
    expect(spec.volumes?.[0]).toEqual({ name: 'config', emptyDir: {} });
  });

  it('mounts every volume that it adds, and adds every volume that it mounts', () => {
    const { spec } = inject(cnf(), options);
    const added = spec.volumes?.map(({ name }) => name).filter((name) => name !== 'config');
    expect(spec.initContainers?.[0]?.volumeMounts?.map(({ name }) => name)).toEqual(added);
  });

  it('gives the same when done twice', () => {
    const once = inject(cnf(), options);
    expect(inject(once, options)).toEqual(once);
  });

  it('is undone by uninject', () => {
    expect(uninject(inject(cnf(), options))).toEqual(cnf());
  });

  it('says that its emptyDirs keep no node, beside those of which the template says so', () => {
    const listed = { metadata: { ...cnf().metadata, annotations: evictable('config') } };
    const injected = inject({ ...cnf(), ...listed }, options);
    expect(injected.metadata?.annotations).toEqual(evictable('config,sdewan-state'));
    expect(uninject(injected)).toEqual({ ...cnf(), ...listed });
  });

  it('has no port on the network of the node, where each would be the port of one pod', () => {
    const template = cnf();
    const onHost = inject({ ...template, spec: { ...template.spec, hostNetwork: true } }, options);
    expect(onHost.spec.initContainers?.[0]).not.toHaveProperty('ports');
    expect(inject(template, options).spec.initContainers?.[0]).toHaveProperty('ports');
  });

  it('refuses a template without purpose', () => {
    expect(() => inject({ spec: { containers: [] } }, options)).toThrow(/sdewanPurpose/);
  });

  it('has only probes that use no network', () => {
    const agent = inject(cnf(), options).spec.initContainers?.[0];
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect(Object.keys(agent?.[probe] as object)).toContain('exec');
    }
  });
});

describe('the own login', () => {
  const own: InjectOptions = { ...options, ownLogin: true, loginSecret: undefined };
  const withMount = (mount: VolumeMount, source: object): PodTemplate => {
    const template = cnf();
    const [openwrt] = template.spec.containers;
    return {
      ...template,
      spec: {
        ...template.spec,
        containers: [{ ...openwrt, name: 'sdewan', volumeMounts: [mount] }],
        volumes: [{ name: mount.name, ...source }],
      },
    };
  };

  it('puts three files into the CNF, read-only, from memory, and no password', () => {
    const { spec } = inject(cnf(), own);
    expect(spec.containers[0]?.volumeMounts).toEqual([
      {
        name: 'sdewan-own-login',
        mountPath: '/usr/share/rpcd/acl.d/sdewan-agent.json',
        subPath: 'acl.json',
        readOnly: true,
      },
      {
        name: 'sdewan-own-login',
        mountPath: '/usr/share/rpcd/sdewan-kernel.sh',
        subPath: 'kernel.sh',
        readOnly: true,
      },
      {
        name: 'sdewan-own-login',
        mountPath: '/etc/config/rpcd',
        subPath: 'rpcd',
        readOnly: true,
      },
    ]);
    expect(spec.volumes?.find(({ name }) => name === 'sdewan-own-login')).toEqual({
      name: 'sdewan-own-login',
      emptyDir: { medium: 'Memory', sizeLimit: '1Mi' },
    });
    expect(JSON.stringify(spec)).not.toContain('"secret"');
  });

  it('starts the CNF only after the files are there', () => {
    const probe = inject(cnf(), own).spec.initContainers?.[0]?.['startupProbe'];
    expect(JSON.stringify(probe)).toContain('SDEWAN_OWN_LOGIN_DIR/rpcd');
  });

  it.each([
    [
      'passes when they come while it looks',
      'touch "$SDEWAN_STATE_DIR/alive" "$SDEWAN_STATE_DIR/rpcd"',
      '',
    ],
    ['says what is missing when they do not', ':', 'the agent has not made its files yet\n'],
  ])('has the probe for that %s', (_what, meanwhile, said) => {
    const folder = mkdtempSync(join(tmpdir(), 'sdewan-probe-'));
    writeFileSync(join(folder, 'sleep'), `#!/bin/sh\n${meanwhile}\n`, { mode: 0o755 });
    const probe = inject(cnf(), own).spec.initContainers?.[0]?.['startupProbe'];
    const [shell, ...script] = (probe as { exec: { command: [string, ...string[]] } }).exec.command;
    const { PATH } = process.env;
    const env = {
      PATH: `${folder}:${PATH}`,
      SDEWAN_STATE_DIR: folder,
      SDEWAN_OWN_LOGIN_DIR: folder,
    };
    const { status, stdout } = spawnSync(shell, script, { env, encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect({ status, stdout }).toEqual({ status: said === '' ? 0 : 1, stdout: said });
  });

  it('is undone, and the same when done twice', () => {
    const once = inject(cnf(), own);
    expect(inject(once, own)).toEqual(once);
    expect(uninject(once)).toEqual(cnf());
    const mounted = withMount({ name: 'data', mountPath: '/data' }, { emptyDir: {} });
    expect(uninject(inject(mounted, own))).toEqual(mounted);
  });

  it('can be for another container than the first', () => {
    const template = cnf();
    template.spec.containers.unshift({ name: 'log-shipper' });
    const { spec } = inject(template, { ...own, openwrtContainer: 'sdewan' });
    expect(spec.containers.map(({ volumeMounts = [] }) => volumeMounts.length)).toEqual([0, 3]);
    const missing = injectAnnotated(template, { ...own, openwrtContainer: 'nobody' });
    expect(missing).toEqual({ problems: [expect.stringContaining('no container "nobody"')] });
  });

  it.each<[string, VolumeMount, object, boolean]>([
    ['the same file', { name: 'v', mountPath: '/etc/config/rpcd' }, { emptyDir: {} }, true],
    [
      'a ConfigMap over the folder',
      { name: 'v', mountPath: '/etc/config/' },
      { configMap: {} },
      true,
    ],
    [
      'a read-only folder',
      { name: 'v', mountPath: '/etc', readOnly: true },
      { emptyDir: {} },
      true,
    ],
    ['a Secret at the root', { name: 'v', mountPath: '/usr' }, { secret: {} }, true],
    [
      'a folder that can be written',
      { name: 'v', mountPath: '/etc/config' },
      { emptyDir: {} },
      false,
    ],
    ['another file', { name: 'v', mountPath: '/etc/config/rpcd2' }, { configMap: {} }, false],
  ])('finds %s in its way or not', (_, mount, source, inTheWay) => {
    const result = injectAnnotated(withMount(mount, source), own);
    expect('problems' in result).toBe(inTheWay);
    const text = JSON.stringify(result);
    expect(text.includes('agent-own-login')).toBe(inTheWay);
  });
});

describe('injection by annotations', () => {
  it('gives what the options give', () => {
    const template = cnf();
    const annotated = {
      ...template,
      metadata: {
        ...template.metadata,
        annotations: { 'sdewan.akraino.org/agent-log-level': 'debug' },
      },
    };
    const result = injectAnnotated(annotated, options);
    expect('injected' in result && isInjected(result.injected)).toBe(true);
    expect(JSON.stringify(result)).toContain('{"name":"SDEWAN_LOG_LEVEL","value":"debug"}');
  });

  it('lists what it cannot do', () => {
    const template = cnf();
    template.metadata = {
      ...template.metadata,
      annotations: { 'sdewan.akraino.org/agent-log-level': 'loud' },
    };
    expect(injectAnnotated(template, options)).toEqual({
      problems: [expect.stringContaining('agent-log-level')],
    });
  });

  it('names the Secrets of a login and of a CA', () => {
    const withSecrets = inject(cnf(), { ...options, openwrtCaSecret: 'cnf-ca' }).spec;
    const login = withSecrets.volumes?.find(({ name }) => name === 'sdewan-login');
    expect(JSON.stringify(login)).toContain('cnf-login');
    expect(JSON.stringify(login)).toContain('cnf-ca');
    const without = inject(cnf(), { ...options, loginSecret: undefined }).spec;
    expect(JSON.stringify(without)).not.toContain('sdewan-login"');
  });
});
