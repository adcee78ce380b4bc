/** CRs that make others, on the real API server, with a DNS of the test's own. */
import { describe, expect, it } from 'vitest';
import { kindOf } from '#shared/resources/registry.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import { generatorStatusSchema } from '#shared/protocol/generator-status.ts';
import type { Fixture } from '../coordinator/fixture.ts';
import type { DnsServer } from './dns-server.ts';
import { eventually } from '../support/eventually.ts';

const schema = objectSchema.extend({ status: generatorStatusSchema.optional() });

const resourceOf = (kind: string) => {
  const definition = kindOf(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  return { ...definition, schema };
};

const nat = (address: string, port: string) => ({
  target: 'DNAT',
  proto: 'tcp',
  src_dport: port,
  dest_ip: address,
  dest_port: '80',
  index: '2',
});

export const childrenSuite = (fixtureNow: () => Fixture, dnsNow: () => DnsServer): void => {
  const client = () => fixtureNow().client;
  const at = (name: string) => ({ namespace: fixtureNow().namespace, name });

  const create = (kind: string, name: string, spec: object, metadata: object = {}) =>
    client().create(resourceOf(kind), {
      apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
      kind,
      metadata: { ...at(name), labels: { sdewanPurpose: 'cnf-1' }, ...metadata },
      spec,
    });
  const remove = (kind: string, name: string): Promise<void> =>
    client().delete(resourceOf(kind), at(name));
  const read = (name: string) =>
    client()
      .get(resourceOf('CNFService'), at(name))
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
  const statusOf = async (name: string) => (await read(name))?.status;
  const natsOf = async (prefix: string): Promise<RuleObject[]> => {
    const { items } = await client().list(resourceOf('CNFNAT'), {
      namespace: fixtureNow().namespace,
    });
    return items.filter(({ metadata }) => metadata.name.startsWith(prefix));
  };
  const specs = async (prefix: string): Promise<Record<string, unknown>> =>
    Object.fromEntries((await natsOf(prefix)).map(({ metadata, spec }) => [metadata.name, spec]));
  const uids = async (prefix: string): Promise<string[]> =>
    (await natsOf(prefix)).map(({ metadata }) => metadata.uid);

  describe('a CNFService', () => {
    it('makes a CNFNAT, updates it in place, makes it again when it is lost, and is deleted with it', async () => {
      dnsNow().set({ 'web.test': ['192.0.2.1'] });
      const { uid } = (
        await create('CNFService', 'web', { fullname: 'web.test', port: 8_866, dport: '80' })
      ).metadata;
      await eventually(() => specs('web')).toEqual({ webnat: nat('192.0.2.1', '8866') });
      const [child] = await natsOf('web');
      expect(child?.metadata).toMatchObject({
        labels: { sdewanPurpose: 'cnf-1' },
        ownerReferences: [{ kind: 'CNFService', name: 'web', uid, controller: true }],
      });
      await eventually(() => statusOf('web')).toMatchObject({
        inSync: false,
        sip: '192.0.2.1',
        port: '8866',
        dport: '80',
        message: expect.stringMatching(/^CNFNAT webnat: no pod in namespace/),
        children: { summary: '0/1' },
      });

      dnsNow().set({ 'web.test': ['192.0.2.2'] });
      await eventually(() => specs('web')).toEqual({ webnat: nat('192.0.2.2', '8866') });
      const patch = { type: 'merge', body: { spec: { port: '9000' } } } as const;
      await client().patch(resourceOf('CNFService'), at('web'), { patch });
      await eventually(() => specs('web')).toEqual({ webnat: nat('192.0.2.2', '9000') });
      expect(await uids('web')).toEqual([child?.metadata.uid]);

      await remove('CNFNAT', 'webnat');
      await eventually(async () => (await uids('web'))[0] ?? child?.metadata.uid).not.toBe(
        child?.metadata.uid,
      );
      await remove('CNFService', 'web');
      await eventually(() => uids('web')).toEqual([]);
    });

    it('keeps what was made of its last addresses while the DNS does not answer, also over a restart', async () => {
      dnsNow().set({ 'both.test': ['192.0.2.1', '2001:db8::1'] });
      await create('CNFService', 'both', { fullname: 'both.test', port: 84, dport: 80 });
      const six = { bothnat6: nat('2001:db8::1', '84') };
      await eventually(() => specs('both')).toEqual({ bothnat: nat('192.0.2.1', '84'), ...six });
      const before = await uids('both');
      await fixtureNow().killCoordinator();
      dnsNow().set({ 'both.test': ['192.0.2.2', '2001:db8::2'] }, { failing: 6 });
      await fixtureNow().startCoordinator();
      await eventually(() => specs('both')).toEqual({ bothnat: nat('192.0.2.2', '84'), ...six });
      await eventually(() => statusOf('both')).toMatchObject({
        message: expect.stringContaining('does not answer for IPv6 addresses of both.test'),
        children: { total: 2 },
      });
      // A coordinator that has never resolved the name.
      await fixtureNow().killCoordinator();
      dnsNow().set('SERVFAIL');
      await fixtureNow().startCoordinator();
      await eventually(() => statusOf('both')).toMatchObject({
        message: expect.stringMatching(/^spec.fullname: both.test cannot be resolved: /),
        conditions: [{ type: 'Ready', status: 'False', reason: 'NotResolved' }],
      });
      expect(await uids('both')).toEqual(before);
      // That there is none is an answer.
      dnsNow().set({ 'both.test': ['192.0.2.3'] });
      await eventually(() => specs('both')).toEqual({ bothnat: nat('192.0.2.3', '84') });
      expect(before).toContain((await uids('both'))[0]);
      await remove('CNFService', 'both');
    });

    it('leaves a CNFNAT of that name from another owner alone, and says so', async () => {
      dnsNow().set({ 'mine.test': ['192.0.2.1'] });
      const theirs = { target: 'MASQUERADE', dest: '#default' };
      await create('CNFNAT', 'minenat', theirs);
      await create('CNFService', 'mine', { fullname: 'mine.test', port: 82, dport: 80 });
      await eventually(() => statusOf('mine')).toMatchObject({
        message: 'CNFNAT minenat exists already and was not generated from this CNFService',
        conditions: [
          { type: 'Ready', reason: 'NameTaken' },
          { type: 'Stalled', status: 'True' },
        ],
      });
      expect(await specs('mine')).toEqual({ minenat: theirs });
      await remove('CNFNAT', 'minenat');
      await eventually(() => specs('mine')).toEqual({ minenat: nat('192.0.2.1', '82') });
      await remove('CNFService', 'mine');
    });

    it('takes over what one of its name has left that was deleted with --cascade=orphan', async () => {
      dnsNow().set({ 'left.test': ['192.0.2.1'] });
      const spec = { fullname: 'left.test', port: 85, dport: 80 };
      await create('CNFService', 'left', spec);
      await eventually(() => specs('left')).toEqual({ leftnat: nat('192.0.2.1', '85') });
      const before = await uids('left');
      const propagationPolicy = 'Orphan';
      await client().delete(resourceOf('CNFService'), at('left'), { propagationPolicy });
      await eventually(() => read('left')).toBeUndefined();
      await create('CNFService', 'left', { ...spec, port: 86 });
      await eventually(() => specs('left')).toEqual({ leftnat: nat('192.0.2.1', '86') });
      expect(await uids('left')).toEqual(before);
      await remove('CNFService', 'left');
      await eventually(() => uids('left')).toEqual([]);
    });

    it("takes over what ICN's controller made of it", async () => {
      dnsNow().set({ 'icn.test': ['192.0.2.1'] });
      const finalizers = (prefix: string) => ({
        finalizers: [`${prefix}.finalizers.sdewan.akraino.org`],
      });
      // As that controller writes it: the ports the other way round.
      const made = { target: 'DNAT', proto: 'tcp', dest_ip: '192.0.2.1', src_dport: '80' };
      const child = await create('CNFNAT', 'icnnat', made, finalizers('cnfnat'));
      const spec = { fullname: 'icn.test', port: '83', dport: '80' };
      await create('CNFService', 'icn', spec, finalizers('cnfservice'));
      await eventually(() => specs('icn')).toEqual({ icnnat: nat('192.0.2.1', '83') });
      expect(await uids('icn')).toEqual([child.metadata.uid]);
      await remove('CNFService', 'icn');
      await eventually(() => read('icn')).toBeUndefined();
      await eventually(() => uids('icn')).toEqual([]);
    });
  });
};
