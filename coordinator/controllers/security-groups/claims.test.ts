import { describe, expect, it } from 'vitest';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import type { NeutronPort } from '../../neutron/neutron.ts';
import { portClaimsOf, namedPorts } from './claims.ts';
import { networkPortName } from '../../neutron/names.ts';

const ID = '52f111c6-c346-4b59-ad4e-ece80584dff8';
const OTHER = '62f111c6-c346-4b59-ad4e-ece80584dff8';

const pod = (name: string, more: Partial<PolicyPod> = {}): PolicyPod => ({
  namespace: 'x',
  name,
  uid: name,
  labels: {},
  creationTimestamp: '2026-01-01T00:00:00Z',
  addresses: [],
  ports: [],
  isHostNetwork: false,
  isFinished: false,
  ...more,
});
const named = (of: PolicyPod, ...ids: string[]) => ({
  pod: of,
  annotation: JSON.stringify(ids.map((port, at) => ({ interface: `eth${at}`, port }))),
});
const port = (id: string, more: Partial<NeutronPort> = {}): NeutronPort => ({
  id,
  name: 'sdewan/0123abcd/x',
  revision_number: 1,
  security_groups: [],
  port_security_enabled: true,
  'binding:vnic_type': 'normal',
  fixed_ips: [{ ip_address: '10.0.0.1' }],
  ...more,
});
const there = (...ports: NeutronPort[]) => new Map(ports.map((one) => [one.id, one]));
const reasons = (...args: Parameters<typeof portClaimsOf>): string[] =>
  portClaimsOf(...args).unguarded.map(({ pod: of, reason }) => `${of.name} ${reason}`);

it('gives a pod its ports, with the addresses that Neutron says', () => {
  const claims = portClaimsOf([named(pod('a'), ID, OTHER)], there(port(ID), port(OTHER)));
  expect(claims.ports.map(({ id }) => id)).toEqual([ID, OTHER]);
  expect(claims.ports[0]).toEqual({ id: ID, pod: 'a', addresses: ['10.0.0.1'] });
  expect(claims.unguarded).toEqual([]);
});

describe('a port', () => {
  it('stays with the pod that was made first when two name it', () => {
    const late = pod('a', { creationTimestamp: '2026-02-01T00:00:00Z' });
    const claims = portClaimsOf([named(late, ID), named(pod('b'), ID)], there(port(ID)));
    expect(claims.ports.map((one) => one.pod)).toEqual(['b']);
    expect(claims.unguarded.map(({ reason }) => reason)).toEqual(['PortTaken']);
  });

  it('belongs to no pod when its pod has ended, or has the addresses of its node', () => {
    const pods = [
      named(pod('a', { isFinished: true }), ID),
      named(pod('b', { isHostNetwork: true }), ID),
    ];
    expect(portClaimsOf(pods, there(port(ID)))).toEqual({ ports: [], unguarded: [] });
    expect(namedPorts(pods)).toEqual([]);
  });

  it.each<[string, NeutronPort[]]>([
    ['a NotOurPort', []],
    ['a NoPortSecurity', [port(ID, { port_security_enabled: false })]],
    ['a NoPortSecurity', [port(ID, { 'binding:vnic_type': 'direct' })]],
  ])('is left alone: %s', (reason, ports) => {
    expect(reasons([named(pod('a'), ID)], there(...ports))).toEqual([reason]);
  });
});

describe('the port of a NetworkPort', () => {
  const ofObject = port(ID, { name: networkPortName('0123abcd', 'uid') });
  const given = (of: PolicyPod) => ({ pod: of, given: [{ interface: 'net0', port: ID }] });

  it('is its pod’s, also where one that was made earlier names it', () => {
    const late = pod('a', { creationTimestamp: '2026-02-01T00:00:00Z' });
    const pods = [named(pod('thief'), ID), given(late)];
    for (const there_ of [ofObject, port(ID)])
      expect(portClaimsOf(pods, there(there_)).ports).toMatchObject([{ id: ID, pod: 'a' }]);
  });

  it('is no pod’s by what that says, also when no NetworkPort has it', () => {
    expect(reasons([named(pod('thief'), ID)], there(ofObject))).toEqual(['thief NotOurPort']);
    expect(portClaimsOf([named(pod('thief'), ID)], there(ofObject)).ports).toEqual([]);
  });

  it('says by its id that it can have no groups', () => {
    const open = { ...ofObject, port_security_enabled: false };
    expect(portClaimsOf([given(pod('a'))], there(open)).unguarded).toMatchObject([
      { reason: 'NoPortSecurity', port: ID },
    ]);
  });
});

it('harms no other pod by an annotation that cannot be read', () => {
  const pods = [{ pod: pod('a'), annotation: 'eth0' }, named(pod('b'), ID)];
  expect(reasons(pods, there(port(ID)))).toEqual(['a InvalidAnnotation']);
  expect(namedPorts(pods).map(({ id }) => id)).toEqual([ID]);
});
