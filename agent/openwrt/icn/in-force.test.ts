import { describe, expect, it } from 'vitest';
import { inForceBy } from './in-force.ts';

const object = (options: Record<string, string>) => ({
  name: 'a',
  anonymous: false,
  type: 'x',
  options,
});
const rule = (options: Record<string, string>, ...rules: object[]): boolean =>
  inForceBy('rule/rules', { status: rules })(object({ prio: '100', table: '40', ...options }));

describe('a policy rule', () => {
  const local = { src: 'all', not: 'false', prio: '0' };
  const shown = { src: '192.168.1.0/24', dst: '10.99.0.0/16', fwmark: '0x10', not: 'false' };
  const wanted = { src: '192.168.1.0/24', dst: '10.99.0.0/16', fwmark: '16' };

  it.each<[string, boolean, Record<string, string>, object]>([
    ['of the same selector and place is it', true, wanted, { ...shown, prio: '100' }],
    ['of another place is another', false, wanted, { ...shown, prio: '101' }],
    [
      'of another source is another',
      false,
      { ...wanted, src: '192.168.2.0/24' },
      { ...shown, prio: '100' },
    ],
    [
      'of another destination is another',
      false,
      { ...wanted, dst: '10.98.0.0/16' },
      { ...shown, prio: '100' },
    ],
    ['of another mark is another', false, { ...wanted, fwmark: '17' }, { ...shown, prio: '100' }],
    ['that is negated is another', false, { ...wanted, flag: '1' }, { ...shown, prio: '100' }],
    [
      'is shown without the mask of a host',
      true,
      { src: '10.1.1.1/32' },
      { prio: '100', src: '10.1.1.1' },
    ],
    [
      'is shown with bits behind its mask',
      true,
      { src: '10.1.0.0/16' },
      { prio: '100', src: '10.1.2.3/16' },
    ],
    [
      'that is negated is shown so',
      true,
      { src: '10.0.0.0/8', flag: '1' },
      { prio: '100', src: '10.0.0.0/8', not: 'true' },
    ],
  ])('%s', (_what, held, options, other) => {
    expect(rule(options, local, other)).toBe(held);
  });
});

describe('a route of table main', () => {
  const table = {
    main: {
      item: [
        { destination: 'default', device: 'eth0', gateway: '10.0.0.1' },
        { destination: '10.99.0.0/16', device: 'net1', gateway: '172.16.30.1' },
        { destination: '10.98.0.7', device: 'net2', scope: 'link' },
      ],
    },
  };
  it.each<[string, boolean, Record<string, string>]>([
    ['by the same way is it', true, { dst: '10.99.0.0/16', dev: 'net1', gw: '172.16.30.1' }],
    [
      'to a host is shown without mask',
      true,
      { dst: '10.98.0.7/32', dev: 'net2', table: 'default' },
    ],
    ['to elsewhere is lacking', false, { dst: '10.97.0.0/16', dev: 'net1' }],
    [
      'by another gateway is another',
      false,
      { dst: '10.99.0.0/16', dev: 'net1', gw: '172.16.30.2' },
    ],
    [
      "in the place of the pod's own is another",
      false,
      { dst: 'default', dev: 'net1', gw: '172.16.30.1' },
    ],
    ['of table 40 is not known', true, { dst: '10.97.0.0/16', dev: 'net1', table: 'cnf' }],
  ])('%s', (_what, held, options) => {
    expect(inForceBy('route/routes', { status: table })(object(options))).toBe(held);
  });
});

describe('an application', () => {
  const rules = {
    status: [
      { prio: '90', src: '10.6.0.1' },
      { prio: '91', src: '10.6.0.2' },
    ],
  };
  it.each([
    ['10.6.0.1,10.6.0.2', true],
    ['10.6.0.1,10.6.0.3', false],
  ])('needs a rule for each address: %s', (iplist, held) => {
    expect(inForceBy('application/applications', rules)(object({ iplist }))).toBe(held);
  });
});

it.each([undefined, {}, { status: [] }, { status: { main: { item: [] } } }, { status: 'x' }])(
  'takes everything for in force where nothing is known: %j',
  (status) => {
    const options = { dst: '10.0.0.0/8', dev: 'net1', prio: '1', iplist: '10.0.0.1' };
    const held = ['route/routes', 'rule/rules', 'application/applications', 'firewall/rules'].map(
      (name) => inForceBy(name, status)(object(options)),
    );
    expect(held).toEqual([true, true, true, true]);
  },
);
