import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { NFN_NETWORK_ANNOTATION, PORTS_GATE } from '#shared/names.ts';
import { networkObject } from '../../controllers/network-ports/testing.ts';
import type { AdmissionRequest } from '../review.ts';
import { createPortsGate } from './ports-gate.ts';

type Fixture = { networks?: number | 'not served' | 'away'; mayAssign?: boolean };

const answerFor = async (
  { networks = 1, mayAssign = true }: Fixture,
  spec: object = {},
  nfn = '{"interface":[{"name":"net-a","interface":"net0"}]}',
) => {
  const client = {
    list: async () => {
      if (networks === 'not served')
        throw new KubeError('list', '', { status: 404, reason: 'NotFound' });
      if (networks === 'away') throw new KubeError('list', '', { status: 0, reason: 'Timeout' });
      return {
        items: Array.from({ length: networks }, () => networkObject()),
        resourceVersion: '1',
      };
    },
    create: async () => ({ status: { allowed: mayAssign } }),
  } as unknown as KubeClient;
  const metadata = { name: 'p', annotations: { [NFN_NETWORK_ANNOTATION]: nfn } };
  const request = {
    namespace: 'edge',
    object: { apiVersion: 'v1', kind: 'Pod', metadata, spec },
  } as unknown as AdmissionRequest;
  return createPortsGate({ client })(request, new AbortController().signal);
};
const OURS = { name: PORTS_GATE };

describe('a CNF pod', () => {
  it('waits where it names a managed network, behind the gates that it has', async () => {
    expect(await answerFor({}, { schedulingGates: [{ name: 'other' }] })).toEqual({
      patch: [{ op: 'add', path: '/spec/schedulingGates', value: [{ name: 'other' }, OURS] }],
    });
  });

  it.each<[string, Fixture, object?, string?]>([
    ['no network is managed', { networks: 0 }],
    ['the kind is not served', { networks: 'not served' }],
    ['it names another network', {}, {}, '{"interface":[{"name":"net-z","interface":"net0"}]}'],
    ['it has its gate already', {}, { schedulingGates: [OURS] }],
    ['it has a node', {}, { nodeName: 'up' }],
    ['the role is not bound', { mayAssign: false }],
  ])('does not wait where %s', async (_, fixture, spec, nfn) => {
    expect(await answerFor(fixture, spec, nfn)).toEqual({ patch: [] });
  });

  it('is refused where its annotation does not parse, with the entry', async () => {
    expect(await answerFor({}, {}, '{"interface":[{"name":"net-a"}]}')).toMatchObject({
      refusal: { message: expect.stringContaining('interface.0.interface') },
    });
    expect(await answerFor({ networks: 0 }, {}, '{')).toEqual({ patch: [] });
  });

  it('is not made where it is not known what is managed', async () => {
    await expect(answerFor({ networks: 'away' })).rejects.toThrow(KubeError);
  });
});
