import { describe, expect, it } from 'vitest';
import { parseNetworks } from './networks.ts';

describe('the networks of a pod', () => {
  it('are those of the seed', () => {
    const annotation = `{ "type": "ovn4nfv", "interface": [
      { "defaultGateway": "false", "interface": "net0", "name": "ovn-priv-net" },
      { "defaultGateway": "false", "interface": "net1", "name": "ovn-net1" } ] }`;
    expect([...parseNetworks(annotation)]).toEqual([
      ['ovn-priv-net', 'net0'],
      ['ovn-net1', 'net1'],
    ]);
  });

  it('are none without an annotation', () => {
    expect(parseNetworks(undefined).size).toBe(0);
    expect(parseNetworks(' ').size).toBe(0);
  });

  it('count once per name', () => {
    const twice = [
      { name: 'a', interface: 'net0' },
      { name: 'a', interface: 'net1' },
    ];
    expect(parseNetworks(JSON.stringify({ interface: twice })).get('a')).toBe('net0');
  });

  it.each(['{', '[]', '{"interface": [{"name": "a"}]}', '{"interface": 1}'])(
    'cannot be read from %s',
    (annotation) => {
      expect(() => parseNetworks(annotation)).toThrow(/./);
    },
  );
});
