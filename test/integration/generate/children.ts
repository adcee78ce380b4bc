/** CRs that make others, on the real API server, with a DNS of the test's own. */
import { describe, expect, it } from 'vitest';
import { kindOf } from '#shared/resources/registry.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type * as z from 'zod';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import { generatorStatusSchema } from '#shared/protocol/generator-status.ts';
import { pause } from '../coordinator/eventually.ts';
import type { World } from '../coordinator/world.ts';
import type { DnsServer } from './dns-server.ts';
import { eventually } from './eventually.ts';

const schema = objectSchema.extend({ status: generatorStatusSchema.optional() });
type Parent = z.infer<typeof schema>;

const resourceOf = (kind: string) => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return { ...definition, schema };
};

export const childrenSuite = (worldNow: () => World, dnsNow: () => DnsServer): void => {
  const client = () => worldNow().client;
  const namespace = () => worldNow().namespace;

  const create = (kind: string, name: string, spec: object, metadata: object = {}) =>
    client().create(resourceOf(kind), {
      apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
      kind,
      metadata: { name, namespace: namespace(), labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
      spec,
    });
  const patch = (kind: string, name: string, body: object): Promise<unknown> =>
    client().patch(
      resourceOf(kind),
      { namespace: namespace(), name },
      { patch: { type: 'merge', body } },
    );
  const remove = (kind: string, name: string): Promise<void> =>
    client().delete(resourceOf(kind), { namespace: namespace(), name });
  const read = async (kind: string, name: string): Promise<Parent | undefined> =>
    client()
      .get(resourceOf(kind), { namespace: namespace(), name })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
  const statusOf = async (kind: string, name: string) => (await read(kind, name))?.status;
  const rulesOf = async (kind: string, prefix: string): Promise<RuleObject[]> => {
    const { items } = await client().list(resourceOf(kind), { namespace: namespace() });
    return items.filter(({ metadata }) => metadata.name.startsWith(prefix));
  };
  const specs = async (kind: string, prefix: string): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      (await rulesOf(kind, prefix)).map(({ metadata, spec }) => [metadata.name, spec]),
    );
  const uids = async (kind: string, prefix: string): Promise<string[]> =>
    (await rulesOf(kind, prefix)).map(({ metadata }) => metadata.uid);

  describe('a CNFService', () => {
    const nat = (address: string, port = '8866') => ({
      target: 'DNAT',
      proto: 'tcp',
      src_dport: port,
      dest_ip: address,
      dest_port: '80',
      index: '2',
    });

    it('makes a CNFNAT, updates it in place for its name and its spec, and is deleted with it', async () => {
      dnsNow().set({ 'web.test': ['192.0.2.1'] });
      const parent = await create('CNFService', 'web', {
        fullname: 'web.test',
        port: 8_866,
        dport: '80',
      });
      await eventually(() => specs('CNFNAT', 'web')).toEqual({ webnat: nat('192.0.2.1') });
      const [child] = await rulesOf('CNFNAT', 'web');
      expect(child?.metadata.ownerReferences).toMatchObject([
        { kind: 'CNFService', name: 'web', uid: parent.metadata.uid, controller: true },
      ]);
      expect(child?.metadata.labels?.['sdewanPurpose']).toBe('cnf-1');
      await eventually(() => statusOf('CNFService', 'web')).toMatchObject({
        inSync: false,
        sip: '192.0.2.1',
        port: '8866',
        dport: '80',
        message: expect.stringMatching(/^CNFNAT webnat: no pod in namespace/),
        children: { summary: '0/1' },
      });

      dnsNow().set({ 'web.test': ['192.0.2.2'] });
      await eventually(() => specs('CNFNAT', 'web')).toEqual({ webnat: nat('192.0.2.2') });
      await patch('CNFService', 'web', { spec: { port: '9000' } });
      await eventually(() => specs('CNFNAT', 'web')).toEqual({ webnat: nat('192.0.2.2', '9000') });
      expect(await uids('CNFNAT', 'web')).toEqual([child?.metadata.uid]);

      await remove('CNFService', 'web');
      await eventually(() => uids('CNFNAT', 'web')).toEqual([]);
    });

    it('keeps its CNFNAT while the DNS does not answer, says so, and recovers by itself', async () => {
      dnsNow().set({ 'shop.test': ['192.0.2.1'] });
      await create('CNFService', 'shop', { fullname: 'shop.test', port: 81, dport: 80 });
      await eventually(() => uids('CNFNAT', 'shop')).toHaveLength(1);
      const before = await uids('CNFNAT', 'shop');
      dnsNow().set('SERVFAIL');
      await eventually(() => statusOf('CNFService', 'shop')).toMatchObject({
        message: expect.stringMatching(
          /^spec.fullname: shop.test cannot be resolved: .*last addresses stay in force/,
        ),
      });
      // A coordinator that has never resolved the name.
      await worldNow().killCoordinator();
      await worldNow().startCoordinator();
      await eventually(() => statusOf('CNFService', 'shop')).toMatchObject({
        conditions: [{ type: 'Ready', status: 'False', reason: 'NotResolved' }],
      });
      expect(await uids('CNFNAT', 'shop')).toEqual(before);
      dnsNow().set({ 'shop.test': ['192.0.2.9'] });
      await eventually(() => specs('CNFNAT', 'shop')).toEqual({ shopnat: nat('192.0.2.9', '81') });
      expect(await uids('CNFNAT', 'shop')).toEqual(before);
      await remove('CNFService', 'shop');
    });

    it('keeps its CNFNAT of a family that the DNS does not answer for, also over a restart', async () => {
      const zone = { 'both.test': ['192.0.2.1', '2001:db8::1'] };
      const moved = { 'both.test': ['192.0.2.2', '2001:db8::2'] };
      dnsNow().set(zone);
      await create('CNFService', 'both', { fullname: 'both.test', port: 84, dport: 80 });
      const four = { bothnat: nat('192.0.2.1', '84') };
      const six = { bothnat6: nat('2001:db8::1', '84') };
      await eventually(() => specs('CNFNAT', 'both')).toEqual({ ...four, ...six });
      const before = await uids('CNFNAT', 'both');
      await worldNow().killCoordinator();
      dnsNow().set(moved, { failing: 6 });
      await worldNow().startCoordinator();
      await eventually(() => specs('CNFNAT', 'both')).toEqual({
        bothnat: nat('192.0.2.2', '84'),
        ...six,
      });
      await eventually(() => statusOf('CNFService', 'both')).toMatchObject({
        message: expect.stringContaining('does not answer for IPv6 addresses of both.test'),
        children: { total: 2 },
      });
      // That there is none is an answer.
      dnsNow().set({ 'both.test': ['192.0.2.3'] });
      await eventually(() => specs('CNFNAT', 'both')).toEqual({ bothnat: nat('192.0.2.3', '84') });
      expect(before).toContain((await uids('CNFNAT', 'both'))[0]);
      await remove('CNFService', 'both');
    });

    it('leaves a CNFNAT of that name from somebody else alone, and says so', async () => {
      dnsNow().set({ 'mine.test': ['192.0.2.1'] });
      const theirs = { target: 'MASQUERADE', dest: '#default' };
      await create('CNFNAT', 'minenat', theirs);
      await create('CNFService', 'mine', { fullname: 'mine.test', port: 82, dport: 80 });
      await eventually(() => statusOf('CNFService', 'mine')).toMatchObject({
        message: 'CNFNAT minenat exists already and was not generated from this CNFService',
        conditions: [
          { type: 'Ready', reason: 'NameTaken' },
          { type: 'Stalled', status: 'True' },
        ],
      });
      expect(await specs('CNFNAT', 'mine')).toEqual({ minenat: theirs });
      await remove('CNFNAT', 'minenat');
      await eventually(() => specs('CNFNAT', 'mine')).toEqual({ minenat: nat('192.0.2.1', '82') });
      await remove('CNFService', 'mine');
    });

    it("takes over what ICN's controller made of it", async () => {
      dnsNow().set({ 'icn.test': ['192.0.2.1'] });
      const finalizers = (prefix: string) => ({
        finalizers: [`${prefix}.finalizers.sdewan.akraino.org`],
      });
      // As that controller writes it: the ports the other way round.
      const made = { target: 'DNAT', proto: 'tcp', dest_ip: '192.0.2.1', src_dport: '80' };
      const child = await create('CNFNAT', 'icnnat', made, finalizers('cnfnat'));
      await create(
        'CNFService',
        'icn',
        { fullname: 'icn.test', port: '83', dport: '80' },
        finalizers('cnfservice'),
      );
      await eventually(() => specs('CNFNAT', 'icn')).toEqual({ icnnat: nat('192.0.2.1', '83') });
      expect(await uids('CNFNAT', 'icn')).toEqual([child.metadata.uid]);
      await remove('CNFService', 'icn');
      await eventually(() => read('CNFService', 'icn')).toBeUndefined();
      await eventually(() => uids('CNFNAT', 'icn')).toEqual([]);
    });
  });

  it('a CNFLocalService has a CNFNAT per address, and none is touched when answers rotate', async () => {
    dnsNow().set({
      'mail.test': ['192.0.2.1', '192.0.2.2'],
      'local.test': ['10.0.0.9', '10.0.0.8'],
    });
    await create('CNFLocalService', 'mail', {
      localservice: 'local.test',
      localport: 2_525,
      remoteservice: 'mail.test',
      remoteport: 25,
    });
    const nat = (address: string) => ({
      target: 'DNAT',
      proto: 'tcp',
      src_dip: address,
      src_dport: '25',
      dest_ip: '10.0.0.8',
      dest_port: '2525',
    });
    const both = { mailnat0: nat('192.0.2.1'), mailnat1: nat('192.0.2.2') };
    await eventually(() => specs('CNFNAT', 'mail')).toEqual(both);
    const generations = async () =>
      (await rulesOf('CNFNAT', 'mail')).map(({ metadata }) => metadata.generation);
    await pause(2_500); // two TTLs
    expect(await generations()).toEqual([1, 1]);
    dnsNow().set({ 'mail.test': ['192.0.2.2', '192.0.2.3'], 'local.test': ['10.0.0.8'] });
    await eventually(() => specs('CNFNAT', 'mail')).toEqual({
      mailnat0: nat('192.0.2.3'),
      mailnat1: nat('192.0.2.2'),
    });
    await remove('CNFLocalService', 'mail');
    await eventually(() => uids('CNFNAT', 'mail')).toEqual([]);
  });

  it('a CNFHubSite has its routes and NAT rules; one that is deleted is created again', async () => {
    dnsNow().set({ 'site.test': ['10.30.0.1'] });
    await create('CNFHubSite', 'hub', { type: 'Hub', site: 'site.test', hubip: '10.1.2.3' });
    await create('CNFHubSite', 'dev', {
      type: 'Device',
      subnet: '10.20.0.0/16',
      devicepip: '10.1.2.3',
    });
    await eventually(() => specs('CNFRoute', 'hub')).toEqual({
      hubroute0: { dst: '10.30.0.1', dev: 'vti_10.1.2.3', table: 'default' },
    });
    const route = { dst: '10.20.0.0/16', dev: '#10.1.2.3', table: 'cnf' };
    await eventually(() => specs('CNFRoute', 'dev')).toEqual({ devroute0: route });
    await eventually(() => specs('CNFNAT', 'dev')).toEqual({
      devsnat0: {
        target: 'SNAT',
        dest: '#source',
        src_dip: '10.1.2.3',
        dest_ip: '10.20.0.0/16',
        index: '1',
      },
    });
    const [lost] = await uids('CNFRoute', 'dev');
    await remove('CNFRoute', 'devroute0');
    await eventually(async () => (await uids('CNFRoute', 'dev'))[0] ?? lost).not.toBe(lost);
    expect(Object.values(await specs('CNFRoute', 'dev'))).toEqual([route]);
  });

  it('a CR without a good spec says what is wrong, and makes nothing', async () => {
    await create('CNFHubSite', 'v6', { type: 'Hub', subnet: '2001:db8::/32', hubip: '10.1.2.3' });
    await eventually(() => statusOf('CNFHubSite', 'v6')).toMatchObject({
      message: 'spec.site: neither site nor subnet has an IPv4 address',
    });
    await expect(
      create('CNFHubSite', 'long', { type: 'Hub', subnet: '10.0.0.0/8', hubip: '192.168.100.1' }),
    ).rejects.toThrow('Linux takes at most 15 characters for the device vti_<hubip>');
    expect(await uids('CNFRoute', 'v6')).toEqual([]);
  });
};
