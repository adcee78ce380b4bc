import { expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { refusedServices } from './services.ts';

const object = (
  name: string,
  namespace: string,
  rest: object,
  metadata: object = {},
): RuleObject => ({
  apiVersion: 'v1',
  kind: 'x',
  metadata: {
    name,
    namespace,
    uid: `${namespace}-${name}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
  ...rest,
});
const pod = (annotations: object = {}): RuleObject =>
  object(
    'cnf',
    'edge',
    { spec: { containers: [{ name: 'openwrt' }] } },
    { labels: { sdewanPurpose: 'cnf-1' }, annotations },
  );
const service = (namespace: string, expose: string | undefined, port = 80): RuleObject =>
  object(
    'web',
    namespace,
    { spec: { clusterIPs: ['10.0.0.1'], ports: [{ port, protocol: 'TCP' }] } },
    { annotations: expose === undefined ? {} : { 'sdewan.akraino.org/expose': expose } },
  );
const ACCEPTS = { 'sdewan.akraino.org/accepts-services-from': 'office, shop' };

it.each<[string, RuleObject, RuleObject]>([
  ['that asks for nothing', service('shop', undefined), pod()],
  ["of the CNF's namespace", service('edge', 'cnf-1'), pod()],
  ['that the CNF accepts', service('shop', 'edge/cnf-1'), pod(ACCEPTS)],
])('does not name a Service %s', (_, one, cnf) => {
  expect(refusedServices([one], [cnf], ['22/tcp'])).toEqual([]);
});

it.each<[string, RuleObject, RuleObject, string]>([
  ['that the CNF does not accept', service('shop', 'edge/cnf-1'), pod(), 'does not accept'],
  ['of a reserved port', service('edge', 'cnf-1', 22), pod(), 'is reserved on CNFs'],
  ['of a CNF that is not there', service('shop', 'edge/cnf-2'), pod(), 'no pod of CNF edge/cnf-2'],
])('names a Service %s, with the reason', (_, one, cnf, words) => {
  const { namespace, name } = one.metadata;
  expect(refusedServices([one], [cnf], ['22/tcp'])).toEqual([
    { service: `${namespace}/${name}`, reasons: [expect.stringContaining(words)] },
  ]);
});
