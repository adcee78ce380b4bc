import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { EXIT } from './command.ts';
import { runCli } from './testing.ts';

/** As people write it: their own order, comments and octal numbers. */
const DEPLOYMENT = `# the CNF of the edge in Lille
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cnf-1
  labels:
    sdewanPurpose: cnf-1 # ties rules to it
spec:
  replicas: 2
  selector: {matchLabels: {app: cnf-1}}
  template:
    metadata:
      labels:
        app: cnf-1
        sdewanPurpose: cnf-1
    spec:
      serviceAccountName: cnf
      # OpenWRT itself
      containers:
      - name: sdewan
        image: integratedcloudnative/openwrt:dev # pinned elsewhere
        volumeMounts:
        - {name: scripts, mountPath: /scripts}
      volumes:
      - name: scripts
        configMap: {name: scripts, defaultMode: 0755}
`;
const MARK = { annotations: { 'sdewan.akraino.org/without-webhook': 'true' } };
const SERVICE = 'apiVersion:   v1\nkind: Service   # untouched\nmetadata: {name: s}\n';

const run = (command: string, files: Record<string, string>, ...args: string[]) => {
  const named = Object.keys(files).flatMap((file) => ['-f', file]);
  return runCli([command, ...named, ...args], { files });
};

describe('sdewan inject', () => {
  it('adds the agent and changes nothing else of the text', async () => {
    const { code, out, said } = await run('inject', { 'a.yaml': DEPLOYMENT });
    expect([code, said]).toEqual([
      EXIT.done,
      ['a.yaml: document 1, Deployment cnf-1: agent injected'],
    ]);
    const lines = new Set(out.split('\n'));
    expect(DEPLOYMENT.split('\n').filter((line) => !lines.has(line))).toEqual([]);
    expect(out).toContain('- name: sdewan-agent');
    expect(out).toContain('https://sdewan-coordinator-reports.sdewan-system.svc:8443');
    await expect(out).toMatchFileSnapshot('../../test/golden/inject/deployment.yaml');
  });

  it('does it once, however often it is run, and uninject brings the text back', async () => {
    const once = await run('inject', { '-': DEPLOYMENT });
    const twice = await run('inject', { '-': once.out });
    expect(twice.out).toBe(once.out);
    const back = await run('uninject', { '-': once.out });
    expect(back.out).toBe(DEPLOYMENT);
    expect(back.said).toEqual(['standard input: document 1, Deployment cnf-1: agent removed']);
    expect((await run('uninject', { '-': DEPLOYMENT })).out).toBe(DEPLOYMENT);
  });

  it('handles several documents and files, and leaves all other text byte for byte', async () => {
    const pod =
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"sdewanPurpose":"x"},"annotations":{"sdewan.akraino.org/paused":"true"}},"spec":{"containers":[{"name":"c"}]}}';
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${DEPLOYMENT.replaceAll('\n', '\n  ').trim().replace('# the CNF of the edge in Lille\n  ', '')}\n`;
    const files = { 'a.yaml': `${SERVICE}---\n${DEPLOYMENT}`, 'pod.json': pod, 'list.yaml': list };
    const { out, said } = await run('inject', files);
    expect(out.startsWith(`${SERVICE}---\n# the CNF`)).toBe(true);
    expect(out.match(/name"?: "?sdewan-agent/g)).toHaveLength(3);
    expect(said).toEqual([
      'a.yaml: document 2, Deployment cnf-1: agent injected',
      expect.stringMatching(
        /^pod.json: document 1, Pod p: agent injected; warning: .* set serviceAccountName.*; warning: .* get no rules/,
      ),
      'list.yaml: document 1, item 1, Deployment cnf-1: agent injected',
    ]);
  });

  it.each(['StatefulSet', 'DaemonSet'])('knows %ss', async (kind) => {
    const { out } = await run('inject', { '-': DEPLOYMENT.replace('Deployment', kind) });
    expect(out).toContain('sdewan-agent');
  });

  it("adds the workload's purpose to a template without the label, and says so", async () => {
    const text = DEPLOYMENT.replace('        sdewanPurpose: cnf-1\n', '');
    const { out, said } = await run('inject', { '-': text });
    expect(out).toContain('        app: cnf-1\n        sdewanPurpose: cnf-1\n');
    expect(said[0]).toContain('pod template labelled sdewanPurpose: cnf-1');
  });

  it.each([
    [
      'without purpose',
      DEPLOYMENT.replaceAll(/ +sdewanPurpose.*\n/g, ''),
      'no label sdewanPurpose',
    ],
    [
      'that opted out',
      DEPLOYMENT.replace(
        '    metadata:\n      labels:\n        app',
        '    metadata:\n      annotations: {sdewan.akraino.org/inject: "false"}\n      labels:\n        app',
      ),
      'its annotation disables injection',
    ],
  ])('leaves a CNF alone %s', async (_, text, words) => {
    const { out, said } = await run('inject', { '-': text });
    expect(out).toBe(text);
    expect(said).toEqual([expect.stringContaining(words)]);
  });

  it('accepts flags, and gives service account default no access to keys unless a flag allows it', async () => {
    const text = DEPLOYMENT.replace('      serviceAccountName: cnf\n', '');
    const plain = await run('inject', { '-': text }, '--agent-image', 'r.example/agent:2');
    expect(plain.out).toContain('image: r.example/agent:2');
    expect(plain.out).toContain('SDEWAN_WITHOUT_KINDS');
    const opted = await run('inject', { '-': text }, '--default-reads-keys');
    expect(opted.out).not.toContain('SDEWAN_WITHOUT_KINDS');
  });

  it.each([
    [
      'an annotation',
      DEPLOYMENT.replace('    spec:\n', '    spec:\n').replace(
        '    metadata:\n      labels:\n        app',
        '    metadata:\n      annotations: {sdewan.akraino.org/agent-driver: telnet}\n      labels:\n        app',
      ),
      /document 2, Deployment cnf-1: annotation sdewan.akraino.org\/agent-driver: "telnet" must be one of/,
    ],
    [
      'a field',
      DEPLOYMENT.replace(/containers:[^]*/, 'containers: 3\n'),
      /spec\.template\.spec\.containers: .*array/,
    ],
    ['the syntax', 'a: [', /^a\.yaml:5:5: not YAML: Flow sequence/],
  ])('says where %s is wrong and prints nothing', async (_, text, words) => {
    const { code, out, said } = await run('inject', {
      'a.yaml': `${SERVICE}---\n${text}`,
      'b.yaml': DEPLOYMENT,
    });
    expect([code, out]).toEqual([EXIT.no, '']);
    expect(said.join('\n')).toMatch(words);
    expect(said[0]).toMatch(/^a\.yaml:/);
  });

  it('says which file cannot be read', async () => {
    const { code, said } = await run('inject', {}, '-f', 'none.yaml');
    expect([code, said]).toEqual([EXIT.usage, ['none.yaml: there is no such file']]);
  });

  it('requires a file', async () => {
    expect(await run('inject', {})).toMatchObject({
      code: EXIT.usage,
      said: [expect.stringContaining('-f FILE')],
    });
    expect((await run('inject', {}, '--nonsense')).said[0]).toContain('nonsense');
  });

  it('refuses a default of the agent that is wrong', async () => {
    const files = { '-': DEPLOYMENT };
    const env = { SDEWAN_AGENT_DRIVER: 'telnet' };
    expect(await runCli(['inject', '-f', '-'], { files, env })).toMatchObject({
      code: EXIT.usage,
      out: '',
      said: [expect.stringContaining('SDEWAN_AGENT_DRIVER')],
    });
  });
});

describe('sdewan inject --without-webhook', () => {
  const inject = (files: Record<string, string>, ...args: string[]) =>
    run('inject', files, '--without-webhook', ...args);
  const ofEdge = DEPLOYMENT.replace('name: cnf-1\n', 'name: cnf-1\n  namespace: edge\n');

  it('annotates the pods, and brings the rights of their agents', async () => {
    const { code, out, said } = await inject({ 'a.yaml': DEPLOYMENT }, '-n', 'edge');
    expect([code, said]).toEqual([
      EXIT.done,
      [
        'a.yaml: document 1, Deployment cnf-1: agent injected; its pods start without the webhook',
        'a.yaml: RoleBinding edge/sdewan-agent:cnf included',
        'a.yaml: RoleBinding edge/sdewan-agent-keys:cnf included',
      ],
    ]);
    await expect(out).toMatchFileSnapshot(
      '../../test/golden/inject/deployment-without-webhook.yaml',
    );
  });

  it('says of a pod without an owner that it waits all the same', async () => {
    const pod =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {sdewanPurpose: x}}\nspec: {serviceAccountName: cnf, containers: [{name: c}]}\n';
    const { said } = await inject({ 'pod.yaml': pod }, '-n', 'edge');
    expect(said[0]).toBe(
      'pod.yaml: document 1, Pod p: agent injected; it waits for the webhook all the same, since it has no owner',
    );
  });

  it.each([
    ['Deployment', DEPLOYMENT],
    ['Deployment that names its namespace', ofEdge],
    [
      'Deployment with annotations',
      DEPLOYMENT.replace(
        '      labels:\n        app',
        '      annotations: {a: b}\n      labels:\n        app',
      ),
    ],
    ['StatefulSet', DEPLOYMENT.replace('Deployment', 'StatefulSet')],
    ['Deployment among other objects', `${SERVICE}---\n${DEPLOYMENT}---\n${SERVICE}`],
  ])(
    'changes nothing of a %s the second time, and uninject brings the text back',
    async (_, text) => {
      const once = await inject({ '-': text }, '-n', 'edge');
      expect((await inject({ '-': once.out }, '-n', 'edge')).out).toBe(once.out);
      // The annotation stays when the flag is forgotten.
      expect((await run('inject', { '-': once.out }, '-n', 'edge')).out).toBe(once.out);
      const back = await run('uninject', { '-': once.out });
      expect(back.out).toBe(text);
      expect(back.said.slice(1)).toEqual(
        ['sdewan-agent', 'sdewan-agent-keys'].map(
          (role) =>
            `standard input: RoleBinding edge/${role}:cnf removed here; kubectl delete removes it from the cluster`,
        ),
      );
    },
  );

  it('binds each service account once, keys only those that may read them, and leaves RoleBindings of others', async () => {
    const another = DEPLOYMENT.replace('name: cnf-1', 'name: cnf-2');
    const asDefault = DEPLOYMENT.replace('      serviceAccountName: cnf\n', '');
    const others =
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: sdewan-agent, namespace: edge}\n';
    const files = { 'a.yaml': [others, ofEdge, another, asDefault].join('---\n') };
    const bindings = async (...args: string[]) => {
      const { out } = await inject(files, '-n', 'edge', ...args);
      expect(out.startsWith(`${others}---\n`)).toBe(true);
      return [...out.matchAll(/^ {2}name: (sdewan-.*:.*)$/gm)].map(([, name]) => name);
    };
    const all = ['sdewan-agent:cnf', 'sdewan-agent-keys:cnf', 'sdewan-agent:default'];
    expect(await bindings()).toEqual(all);
    expect(await bindings('--default-reads-keys')).toEqual([...all, 'sdewan-agent-keys:default']);
  });

  it('takes JSON, and gives YAML that kubectl and the command itself read', async () => {
    const template = {
      metadata: { labels: { sdewanPurpose: 'x' } },
      spec: { serviceAccountName: 'cnf', containers: [{ name: 'c' }] },
    };
    const metadata = { name: 'd', namespace: 'edge' };
    const item = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { template } };
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [item] });
    const { out } = await inject({ '-': list });
    const documents = parseAllDocuments(out).map((document): unknown => document.toJS());
    expect(documents).toMatchObject([
      { kind: 'List', items: [{ spec: { template: { metadata: MARK } } }] },
      { kind: 'RoleBinding', metadata: { name: 'sdewan-agent:cnf', namespace: 'edge' } },
      { kind: 'RoleBinding', metadata: { name: 'sdewan-agent-keys:cnf' } },
    ]);
    expect((await inject({ '-': out })).out).toBe(out);
    const back = parseAllDocuments((await run('uninject', { '-': out })).out);
    expect(back.map((document): unknown => document.toJS())).toEqual([JSON.parse(list)]);
  });

  it('says which CNF names no namespace, and prints nothing', async () => {
    const { code, out, said } = await inject({ 'a.yaml': DEPLOYMENT });
    expect([code, out, said]).toEqual([
      EXIT.no,
      '',
      [expect.stringMatching(/Deployment cnf-1: metadata.namespace: .* specify --namespace$/)],
    ]);
  });
});
