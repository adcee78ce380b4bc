import { afterEach, describe, expect, it } from 'vitest';
import { KubeError } from '#shared/kube/errors.ts';
import type { InjectOptions } from '#shared/inject/options.ts';
import { KEEP_ADDRESSES_ANNOTATION, NFN_NETWORK_ANNOTATION } from '#shared/names.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { networkObject } from '../../controllers/network-ports/testing.ts';
import { workloadOf, type OwnerRef } from '../../sources/workload.ts';
import type { AdmissionRequest, ReviewVerdict } from '../review.ts';
import type { CnfLookups } from './lookups.ts';
import { createCnfDeploymentWebhook } from './cnf-deployments.ts';
import { createPodWebhook, createSecondCnfWebhook } from './inject-agent.ts';
import type { PortsGate } from './ports-gate.ts';
import { createRootOwners } from './root-owner.ts';
import { secondCnf, servingWorkloads, type CnfIdentity } from './second-cnf.ts';
import { createWorkloadWebhook, labelTemplate } from './workloads.ts';

const { signal } = new AbortController();
const defaults: InjectOptions = {
  image: 'sdewan-agent:test',
  coordinatorUrl: 'https://sdewan-coordinator.sdewan-system.svc',
  coordinatorCaConfigMap: 'sdewan-coordinator-ca',
  openwrtUrl: 'http://127.0.0.1:80',
  driver: 'auto',
  ownLogin: true,
  logLevel: 'info',
  resources: { requests: {}, limits: {} },
};

const owner = (kind: string, name: string): OwnerRef => ({
  apiVersion: 'apps/v1',
  kind,
  name,
  uid: `uid-of-${name}`,
});

const request = (object: object, some: Partial<AdmissionRequest> = {}): AdmissionRequest =>
  ({
    uid: 'review-1',
    resource: { group: '', version: 'v1', resource: 'pods' },
    name: '',
    namespace: 'edge',
    operation: 'CREATE',
    userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller' },
    object,
    ...some,
  }) as AdmissionRequest;

const lookups = (
  some: {
    cnfs?: CnfIdentity[];
    readsKeys?: boolean;
    fails?: boolean;
    waits?: boolean;
    ports?: Awaited<ReturnType<PortsGate>>;
  } = {},
): CnfLookups => ({
  cnfs: async () => {
    if (some.fails) throw new KubeError('list', 'down', { status: 0, reason: 'Unreachable' });
    return some.cnfs ?? [];
  },
  rootOf: async () => owner('Deployment', 'cnf-1'),
  defaultReadsKeys: async () => {
    if (some.fails) throw new KubeError('get', 'down', { status: 0, reason: 'Unreachable' });
    return some.readsKeys ?? false;
  },
});

const patchText = (verdict: ReviewVerdict): string =>
  verdict.allowed ? JSON.stringify(verdict.patch ?? []) : '';

describe('the webhook for pods', () => {
  const setUp = (some: Parameters<typeof lookups>[0] = {}) => {
    const announced: string[] = [];
    const webhook = createPodWebhook({
      defaults,
      keyKinds: ['IpsecSite'],
      lookups: lookups(some),
      gates: async () => some.waits ?? false,
      portsGate: async () => some.ports ?? { patch: [] },
      announce: (namespace) => announced.push(namespace),
      log: silentLogger,
    });
    return { webhook, announced };
  };
  const pod = (metadata: object = {}, spec: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'cnf-1-',
      labels: { sdewanPurpose: 'cnf-1' },
      ownerReferences: [{ ...owner('ReplicaSet', 'cnf-1-a'), controller: true }],
      ...metadata,
    },
    spec: { serviceAccountName: 'cnf', containers: [{ name: 'openwrt', image: 'o' }], ...spec },
  });

  it('adds the gate of roll-outs behind those of the pod, where it has to wait', async () => {
    const theirs = { conditionType: 'example.org/theirs' };
    const gatesIn = async (some: Parameters<typeof lookups>[0], spec?: object) => {
      const { webhook } = setUp(some);
      const verdict = await webhook(request(pod({}, spec)), signal);
      if (!verdict.allowed) throw new Error('denied');
      const gates = verdict.patch?.find(({ path }) => path === '/spec/readinessGates');
      return gates && 'value' in gates ? gates.value : undefined;
    };
    const ours = { conditionType: 'fleet.sdewan.akraino.org/handed-over' };
    expect(await gatesIn({})).toBeUndefined();
    expect(await gatesIn({ waits: true })).toEqual([ours]);
    expect(await gatesIn({ waits: true }, { readinessGates: [theirs] })).toEqual([theirs, ours]);
  });

  it('injects the agent and leaves fields alone that do not change', async () => {
    const { webhook, announced } = setUp();
    const verdict = await webhook(request(pod({}, { nodeName: 'n' })), signal);
    expect(verdict).toMatchObject({
      allowed: true,
      patch: [
        { op: 'add', path: '/metadata/annotations' },
        { op: 'add', path: '/spec/initContainers', value: [{ name: 'sdewan-agent' }] },
        { op: 'add', path: '/spec/containers' },
        { op: 'add', path: '/spec/volumes' },
      ],
    });
    expect(announced).toEqual(['edge']);
  });

  it.each([
    ['the pod opted out', { annotations: { 'sdewan.akraino.org/inject': 'false' } }, {}],
    ['it has the agent', {}, { initContainers: [{ name: 'sdewan-agent' }] }],
    ['it is no CNF', { labels: {} }, {}],
  ])('changes nothing, and adds no gate, when %s', async (_, metadata, spec) => {
    const verdict = await setUp({ waits: true }).webhook(request(pod(metadata, spec)), signal);
    expect(verdict).toEqual({ allowed: true, warnings: [] });
  });

  it('denies what it cannot inject, and only warns on a dry run', async () => {
    const bad = pod({ annotations: { 'sdewan.akraino.org/agent-driver': 'telnet' } });
    const { webhook, announced } = setUp();
    expect(await webhook(request(bad), signal)).toMatchObject({
      allowed: false,
      message: expect.stringContaining('one of auto, ubus, icn'),
    });
    const dryRun = await webhook(request(bad, { dryRun: true }), signal);
    expect([dryRun.allowed, dryRun.warnings.length, announced.length]).toEqual([true, 1, 1]);
    const empty = await webhook(request(pod({ labels: { sdewanPurpose: '' } })), signal);
    expect(empty).toMatchObject({ allowed: false, message: expect.stringContaining('is empty') });
  });

  it('gives service account default no access to keys, unless the namespace opted in', async () => {
    const runsAs = async (account: string | undefined, readsKeys: boolean) =>
      patchText(
        await setUp({ readsKeys }).webhook(
          request(pod({}, { serviceAccountName: account })),
          signal,
        ),
      ).includes('{"name":"SDEWAN_WITHOUT_KINDS","value":"IpsecSite"}');
    expect(await runsAs('default', false)).toBe(true);
    expect(await runsAs(undefined, false)).toBe(true);
    expect(await runsAs('default', true)).toBe(false);
    expect(await runsAs('cnf', false)).toBe(false);
  });

  it('warns that the agent may not read keys, and says what to do', async () => {
    const object = pod({}, { serviceAccountName: 'default' });
    const { warnings } = await setUp({ readsKeys: false }).webhook(request(object), signal);
    expect(warnings).toEqual([expect.stringContaining('set serviceAccountName')]);
    const optedIn = await setUp({ readsKeys: true }).webhook(request(object), signal);
    expect(optedIn.warnings).toEqual([]);
  });

  it('warns that a pod is paused from its start', async () => {
    const annotations = { 'sdewan.akraino.org/paused': 'true' };
    const { warnings } = await setUp().webhook(request(pod({ annotations })), signal);
    expect(warnings).toEqual([expect.stringContaining('new pods get no rules')]);
  });

  it('denies pods of a second CNF and bare ones beside a CNF, but not those of a roll-out', async () => {
    const others = { cnfs: [owner('Deployment', 'cnf-1'), owner('StatefulSet', 'old')] };
    const denied = await setUp(others).webhook(request(pod()), signal);
    expect(denied).toMatchObject({
      allowed: false,
      message: expect.stringContaining('StatefulSet old'),
    });
    const same = { cnfs: [owner('Deployment', 'cnf-1')] };
    expect((await setUp(same).webhook(request(pod()), signal)).allowed).toBe(true);
    const bare = pod({ ownerReferences: [] });
    expect(await setUp(same).webhook(request(bare), signal)).toMatchObject({
      allowed: false,
      message: expect.stringContaining('Deployment cnf-1 already serves purpose cnf-1'),
    });
    expect((await setUp({ cnfs: [] }).webhook(request(bare), signal)).allowed).toBe(true);
  });

  it('denies a bare pod that opts out beside a CNF, and leaves it as it is where there is none', async () => {
    const annotations = { 'sdewan.akraino.org/inject': 'false' };
    const bare = pod({ ownerReferences: [], annotations });
    const beside = setUp({ cnfs: [owner('Deployment', 'cnf-1')] });
    expect((await beside.webhook(request(bare), signal)).allowed).toBe(false);
    const alone = setUp({ cnfs: [] });
    const verdict = await alone.webhook(request(bare), signal);
    expect([verdict.allowed, patchText(verdict)]).toEqual([true, '[]']);
    expect([...beside.announced, ...alone.announced]).toEqual([]);
  });

  it('denies pods of a second CNF whatever they say about the agent, and changes none', async () => {
    const asked = (cnfs: CnfIdentity[], object: object) =>
      createSecondCnfWebhook({ lookups: lookups({ cnfs }), log: silentLogger })(
        request(object),
        signal,
      );
    for (const annotations of [{}, { 'sdewan.akraino.org/inject': 'false' }]) {
      const one = pod({ annotations });
      expect(await asked([owner('Deployment', 'other')], one)).toMatchObject({
        allowed: false,
        message: expect.stringContaining('Deployment other already serves purpose cnf-1'),
      });
      expect(await asked([owner('Deployment', 'cnf-1')], one)).toEqual({
        allowed: true,
        warnings: [],
      });
    }
  });

  it('allows the pod when it cannot be found out whether its CNF is the only one', async () => {
    expect((await setUp({ fails: true }).webhook(request(pod()), signal)).allowed).toBe(true);
  });
});

describe('the webhooks for workloads', () => {
  const deployment = (labels: object, template: object, some: object = {}): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'cnf-1', namespace: 'edge', labels, ...some },
    spec: { template: { metadata: template, spec: { containers: [{ name: 'openwrt' }] } } },
  });
  const labels = { sdewanPurpose: 'cnf-1' };
  const setUp = (some: Parameters<typeof lookups>[0] & { keyKinds?: string[] } = {}) =>
    createWorkloadWebhook({
      defaults,
      keyKinds: some.keyKinds ?? [],
      lookups: lookups(some),
      announce: () => undefined,
      log: silentLogger,
    });

  it('put the label into a template that lacks it, and say so', () => {
    const verdict = labelTemplate(request(deployment(labels, { labels: { app: 'a' } })));
    expect(verdict).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('Deployment cnf-1: the pod template had no label')],
      patch: [
        {
          path: '/spec/template/metadata',
          value: { labels: { app: 'a', sdewanPurpose: 'cnf-1' } },
        },
      ],
    });
    expect(patchText(labelTemplate(request(deployment(labels, {}))))).toContain('sdewanPurpose');
  });

  it('refuse networks of policies that are not known, but not of a workload that has them already', async () => {
    const of = (networks: string) =>
      deployment(labels, {
        labels,
        annotations: { 'sdewan.akraino.org/policy-networks': networks },
      });
    const webhook = setUp();
    expect(await webhook(request(of('net9')), signal)).toMatchObject({
      allowed: false,
      code: 422,
      message: expect.stringContaining('"net9" must be one of cluster (NotInjectable)'),
    });
    expect(await webhook(request(of('cluster')), signal)).toMatchObject({ allowed: true });
    const changed = (networks: string) => {
      const { object } = request(of('net9'));
      const some = { operation: 'UPDATE' as const, ...(object && { oldObject: object }) };
      return webhook(request(of(networks), some), signal);
    };
    expect(await changed('net9')).toMatchObject({ allowed: true });
    expect(await changed('net8')).toMatchObject({ allowed: false });
  });

  it.each([
    ['there', deployment(labels, { labels })],
    ['there with another value', deployment(labels, { labels: { sdewanPurpose: 'cnf-2' } })],
    ['on neither', deployment({}, {})],
    ['on what is being deleted', deployment(labels, {}, { deletionTimestamp: 'now' })],
  ])('leave a label alone that is %s', (_, object) => {
    expect(labelTemplate(request(object))).toEqual({ allowed: true, warnings: [] });
  });

  it('warn of what will be denied, and of two values', async () => {
    const template = {
      labels: { sdewanPurpose: 'cnf-2' },
      annotations: { 'sdewan.akraino.org/agent-log-level': 'loud' },
    };
    const verdict = await setUp()(request(deployment(labels, template)), signal);
    expect(verdict).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('will deny the pods'), expect.stringContaining('cnf-2')],
    });
  });

  it('warn once that the agent gets no keys as service account default', async () => {
    const keyKinds = ['IpsecProposal', 'IpsecHost', 'IpsecSite'];
    const object = deployment(labels, { labels });
    const warningsOf = async (some: Parameters<typeof setUp>[0], changes = {}) =>
      (await setUp({ keyKinds, ...some })(request(object, changes), signal)).warnings;
    const [warning = '', ...others] = await warningsOf({});
    expect(others).toEqual([]);
    expect(warning).toMatch(/IpsecSite: set serviceAccountName, or annotate .*=true$/);
    expect(warning.length).toBeLessThanOrEqual(256);
    expect(await warningsOf({ readsKeys: true })).toEqual([]);
    expect(await warningsOf({ fails: true })).toEqual([]);
    expect(await warningsOf({}, { operation: 'UPDATE', oldObject: object })).toEqual([]);
  });

  it('deny a second CNF of a purpose, but never an update that keeps it', async () => {
    const second = setUp({ cnfs: [owner('Deployment', 'other')] });
    const object = deployment(labels, { labels });
    expect(await second(request(object), signal)).toMatchObject({ allowed: false, code: 409 });
    const dryRun = await second(request(object, { dryRun: true }), signal);
    expect([dryRun.allowed, dryRun.warnings.length]).toEqual([true, 1]);
    const update = { operation: 'UPDATE' as const, oldObject: object as never };
    expect((await second(request(object, update), signal)).allowed).toBe(true);
    const own = setUp({ cnfs: [{ ...owner('Deployment', 'cnf-1') }] });
    expect((await own(request(object), signal)).allowed).toBe(true);
  });

  it('warn of a second CNF whose label only its pod template has, once, and of its annotations', async () => {
    const second = setUp({ cnfs: [owner('Deployment', 'other')] });
    const annotations = { 'sdewan.akraino.org/agent-log-level': 'loud' };
    const object = deployment({}, { labels, annotations });
    expect(await second(request(object), signal)).toEqual({
      allowed: true,
      warnings: [
        expect.stringContaining('will deny the pods'),
        expect.stringContaining('Deployment other already serves purpose cnf-1'),
      ],
    });
    const update = { operation: 'UPDATE' as const, oldObject: object as never };
    expect((await second(request(object, update), signal)).warnings).toHaveLength(1);
    expect(await second(request(deployment({}, {})), signal)).toEqual({
      allowed: true,
      warnings: [],
    });
  });
});

describe('the webhook for CNFDeployments', () => {
  const resource = {
    group: 'fleet.sdewan.akraino.org',
    version: 'v1alpha1',
    resource: 'cnfdeployments',
  };
  const cnfDeployment = (purpose: string): object => ({
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: 'cnf-1', uid: 'uid-1' },
    spec: {
      template: { metadata: { labels: { sdewanPurpose: purpose } }, spec: { containers: [] } },
    },
  });
  const answer = (
    some: Parameters<typeof lookups>[0],
    { object, ...changes }: Partial<AdmissionRequest> = {},
  ): Promise<ReviewVerdict> => {
    const mayRoll = async (): Promise<boolean> => {
      if (some?.fails) throw new Error('no answer');
      return mayCreate;
    };
    const networks = async (): Promise<ManagedNetwork[]> => {
      if (some?.fails) throw new Error('no answer');
      return [networkObject({ perNamespace: 1 })];
    };
    const deps = { lookups: lookups(some), log: silentLogger, mayRoll, networks };
    return createCnfDeploymentWebhook(deps)(
      request(object ?? cnfDeployment('cnf-1'), { resource, ...changes }),
      signal,
    );
  };
  const other = owner('StatefulSet', 'cnf-1');
  let mayCreate = true;
  afterEach(() => {
    mayCreate = true;
  });

  it('warns where the coordinator may not make the Deployment', async () => {
    expect((await answer({})).warnings).toEqual([]);
    mayCreate = false;
    expect((await answer({})).warnings).toEqual([
      expect.stringMatching(/may not roll CNFs in namespace \S+: bind ClusterRole sdewan-fleet/),
    ]);
  });

  it('warns where a managed network has too few addresses, and refuses to keep what it cannot keep', async () => {
    const withAnnotations = (annotations: object) => {
      const object = cnfDeployment('cnf-1') as { spec: { template: { metadata: object } } };
      Object.assign(object.spec.template.metadata, { annotations });
      Object.assign(object.spec, { selector: { matchLabels: {} } });
      return object as unknown as AdmissionRequest['object'];
    };
    const asks = withAnnotations({
      [NFN_NETWORK_ANNOTATION]: '{"interface":[{"name":"net-a","interface":"net0"}]}',
    });
    expect((await answer({}, { object: asks })).warnings).toEqual([
      expect.stringContaining('a roll-out has 2 pods at once, which need 2 addresses'),
    ]);
    const keeps = withAnnotations({ [KEEP_ADDRESSES_ANNOTATION]: 'true' });
    expect(await answer({}, { object: keeps })).toMatchObject({
      allowed: false,
      message: expect.stringContaining('CNFDeployment cnf-1 must have one replica'),
    });
    expect(await answer({}, { object: keeps, oldObject: keeps })).toMatchObject({ allowed: true });
  });

  it('refuses a template that is too large to be rolled out, but not other changes of one that is there', async () => {
    const large = cnfDeployment('cnf-1') as { spec: { template: { metadata: object } } };
    Object.assign(large.spec.template.metadata, { annotations: { a: 'a'.repeat(65_536) } });
    const object = large as unknown as AdmissionRequest['object'];
    expect(await answer({}, { object })).toMatchObject({
      allowed: false,
      code: 422,
      message: expect.stringMatching(
        /^spec\.template has 65\d{3} bytes as JSON, and at most 65536/,
      ),
    });
    const update = { operation: 'UPDATE' as const, object, oldObject: object };
    expect(await answer({}, update)).toMatchObject({ allowed: true });
  });

  it('refuses a purpose that another CNF serves, and says where', async () => {
    expect(await answer({ cnfs: [other] })).toMatchObject({
      allowed: false,
      message: expect.stringMatching(
        /^spec\.template\.metadata\.labels\.sdewanPurpose: StatefulSet cnf-1 already serves purpose cnf-1/,
      ),
    });
  });

  it.each<[string, CnfIdentity[]]>([
    ['nobody serves', []],
    ['it serves itself', [{ kind: 'CNFDeployment', name: 'cnf-1', uid: 'uid-1' }]],
    ['a Deployment serves that it can adopt', [owner('Deployment', 'cnf-1')]],
  ])('allows a purpose that %s', async (_, cnfs) => {
    expect(await answer({ cnfs })).toMatchObject({ allowed: true });
  });

  it('looks only when the purpose is new', async () => {
    const oldObject = cnfDeployment('cnf-1') as AdmissionRequest['oldObject'];
    const update = { operation: 'UPDATE' as const, oldObject };
    expect(await answer({ cnfs: [other] }, update)).toMatchObject({ allowed: true });
    const object = cnfDeployment('cnf-2') as AdmissionRequest['object'];
    expect(await answer({ cnfs: [other] }, { ...update, object })).toMatchObject({
      allowed: false,
    });
  });

  it.each<[string, Parameters<typeof lookups>[0], Partial<AdmissionRequest>]>([
    ['while the API server does not answer', { fails: true }, {}],
    ['of another resource', {}, { resource: { ...resource, resource: 'cnfsets' } }],
    [
      'that has no template',
      {},
      { object: { apiVersion: 'v1', kind: 'x', metadata: { name: '' } } },
    ],
    ['that is deleted', {}, { operation: 'DELETE' }],
  ])('allows one %s', async (_, some, changes) => {
    expect(await answer({ cnfs: [other], ...some }, changes)).toMatchObject({ allowed: true });
  });
});

describe('a CNF', () => {
  const own = owner('Deployment', 'cnf-1');

  it('is another one when it was deleted and created again under its name', () => {
    expect(secondCnf('cnf-1', own, [own])).toBeUndefined();
    expect(secondCnf('cnf-1', own, [{ ...own, uid: 'another' }])?.reason).toBe('SecondCnf');
  });

  it('is known by its name when it has no uid yet', () => {
    const { uid: _uid, ...made } = own;
    expect(secondCnf('cnf-1', made, [own])).toBeUndefined();
    expect(secondCnf('cnf-1', { ...made, name: 'b' }, [own])?.reason).toBe('SecondCnf');
  });

  it('serves nothing any more while it is being deleted', () => {
    const metadata = { name: 'a', namespace: 'edge', labels: { sdewanPurpose: 'cnf-1' } };
    const stays = { kind: 'Deployment', metadata, spec: { template: {} } };
    const deletionTimestamp = '2026-01-02T00:00:00Z';
    const goes = { ...stays, metadata: { ...metadata, name: 'b', deletionTimestamp } };
    const serving = servingWorkloads([stays, goes].map(workloadOf), 'edge', 'cnf-1');
    expect(serving.map(({ name }) => name)).toEqual(['a']);
  });
});

describe('the root owner', () => {
  const controlledBy = (uid: string, controller?: OwnerRef, some: object = {}) => ({
    metadata: {
      uid,
      ...some,
      ...(controller && { ownerReferences: [{ ...controller, controller: true }] }),
    },
  });
  const rootsOf = (objects: Record<string, unknown>) =>
    createRootOwners({
      get: async (resource, { name }) => {
        const object = objects[`${resource.kind}/${name}`];
        if (object === undefined)
          throw new KubeError('get', 'gone', { status: 404, reason: 'NotFound' });
        return object as never;
      },
    });
  const replicaSet = owner('ReplicaSet', 'cnf-1-a');
  const deployment = owner('Deployment', 'cnf-1');

  it('is at the top of the chain, also where that is of a kind that we do not know', async () => {
    const operator = { apiVersion: 'example.org/v1', kind: 'Cnf', name: 'c', uid: 'u' };
    const roots = rootsOf({
      'ReplicaSet/cnf-1-a': controlledBy(replicaSet.uid, deployment),
      'Deployment/cnf-1': controlledBy(deployment.uid, operator),
    });
    expect(await roots.of('edge', replicaSet, signal)).toEqual(operator);
  });

  it('does not exist when part of the chain is gone, replaced or being deleted', async () => {
    const chain = (top: unknown) =>
      rootsOf({
        'ReplicaSet/cnf-1-a': controlledBy(replicaSet.uid, deployment),
        ...(top !== undefined && { 'Deployment/cnf-1': top }),
      }).of('edge', replicaSet, signal);
    expect(await chain(undefined)).toBeUndefined();
    expect(await chain(controlledBy('another uid'))).toBeUndefined();
    const deleted = controlledBy(deployment.uid, undefined, { deletionTimestamp: 'now' });
    expect(await chain(deleted)).toBeUndefined();
    expect(await chain(controlledBy(deployment.uid))).toEqual(deployment);
  });
});
