/**
 * What the samples cannot show of IPsec: how rules act together, and what is allowed and does not
 * do what its author expects.
 */
import { describe, expect, it } from 'vitest';
import { checkSpec } from '../../compile/check.ts';
import { compile } from '../../compile/compile.ts';
import { inputOf, namedSection, ruleOf } from '../../compile/testing.ts';
import type { CompileInput } from '../../compile/types.ts';
import { ASSUMED, OF_TODAY } from '../capabilities.ts';
import { kindOf } from '../registry.ts';

const SWANCTL = { capabilities: OF_TODAY };
const CLASSIC = { capabilities: ASSUMED };
const AEAD = {
  encryption_algorithm: 'aes256gcm16',
  hash_algorithm: 'sha384',
  dh_group: 'curve25519',
};
const proposal = (spec: object = {}) =>
  ruleOf('IpsecProposal', 'p', {
    encryption_algorithm: 'aes256',
    hash_algorithm: 'sha256',
    dh_group: 'modp3072',
    ...spec,
  });
const connection = { name: 'net', conn_type: 'tunnel', mode: 'add' };
const site = (name: string, spec: object = {}, metadata = {}) =>
  ruleOf(
    'IpsecSite',
    name,
    {
      remote: '203.0.113.1',
      authentication_method: 'psk',
      pre_shared_key: `key-of-${name}`,
      crypto_proposal: ['p'],
      connections: [{ ...connection, name: `${name}-net` }],
      ...spec,
    },
    metadata,
  );
const cautionsOf = (kindName: string, spec: object): readonly string[] => {
  const kind = kindOf(kindName);
  const checked = kind && checkSpec(kind, spec);
  if (!kind || !checked || 'problem' in checked) throw new Error(JSON.stringify(checked));
  return kind.cautions?.(checked.spec) ?? [];
};

describe('an IpsecProposal', () => {
  const optionsOf = (spec: object, input: Partial<CompileInput>) =>
    compile(inputOf([proposal(spec)], input)).desired.get('ipsec')?.[0]?.options;

  it.each([
    ['sha384', 'prfsha384'],
    ['sha2_512', 'prfsha512'],
    ['sha', 'prfsha1'],
    ['sha256_96', 'prfsha256'],
    ['aesxcbc', 'prfaesxcbc'],
  ])('gives swanctl for hash %s of AEAD the PRF %s, and no hash', (hash_algorithm, prf) => {
    const options = optionsOf({ ...AEAD, hash_algorithm }, SWANCTL);
    expect(options).toMatchObject({ encryption_algorithm: 'aes256gcm16', prf_algorithm: prf });
    expect(options).not.toHaveProperty('hash_algorithm');
  });

  it.each(['chacha20poly1305', 'aes128ccm8', 'camellia256ccm16'])(
    'knows %s as one of AEAD',
    (encryption_algorithm) => {
      const options = optionsOf({ ...AEAD, encryption_algorithm }, SWANCTL);
      expect(options).toMatchObject({ prf_algorithm: 'prfsha384' });
    },
  );

  it('has its hash where the service is the classic one, or the cipher a plain one', () => {
    expect(optionsOf(AEAD, CLASSIC)).toMatchObject(AEAD);
    const plain = optionsOf({ encryption_algorithm: 'aes256ctr' }, SWANCTL);
    expect(plain).toMatchObject({ hash_algorithm: 'sha256' });
    expect(plain).not.toHaveProperty('prf_algorithm');
  });

  it.each<[string, object, RegExp | undefined]>([
    ['AEAD with a hash', AEAD, undefined],
    [
      'AEAD without one, which no remote can name',
      { ...AEAD, hash_algorithm: '' },
      /^spec\.hash_algorithm: .* aes256gcm16 for connections only; .*: write .* sha256 or sha384$/,
    ],
    [
      'a plain cipher without one, which protects nothing',
      { encryption_algorithm: 'aes256', dh_group: 'modp3072' },
      /^spec\.hash_algorithm: .* nothing protects the packets of connections with aes256 .*: write a hash such as sha256$/,
    ],
    [
      'a hash that no key exchange has',
      { ...AEAD, encryption_algorithm: 'aes256', hash_algorithm: 'sha2_256_96' },
      /^spec\.hash_algorithm: strongSwan takes sha2_256_96 for connections only; .*: write sha256$/,
    ],
  ])('is warned of: %s', (_what, spec, words) => {
    expect(cautionsOf('IpsecProposal', spec).join('|') || 'none').toMatch(words ?? /^none$/);
  });
});

describe('a remote, at admission,', () => {
  const words = (spec: object): string => {
    const { spec: whole } = site('a', spec);
    return cautionsOf('IpsecSite', whole as object).join('|') || 'none';
  };
  const connecting = (spec: object) => ({ connections: [{ ...connection, ...spec }] });

  it.each<[string, object, RegExp]>([
    ['forced proposals', { force_crypto_proposal: 1 }, /^spec\.force_crypto_proposal: swanctl/],
    ['proposals that are not forced', { force_crypto_proposal: '0' }, /^none$/],
    ['a key that is decoded', { pre_shared_key: '0sSGVsbG8=' }, /^spec\.pre_shared_key: .*base64/],
    ['another of these', { pre_shared_key: '0Xabcd' }, /^spec\.pre_shared_key: /],
    ['a key that only looks so', { pre_shared_key: '0123' }, /^none$/],
    [
      'nobody to connect to',
      { remote: '%any', ...connecting({ mode: 'start' }) },
      /^spec\.connections\[0\]\.mode: .* remote %any .* start never .* write add/,
    ],
    [
      'nobody to wait for packets to',
      { remote: '::', ...connecting({ mode: 'route' }) },
      /route never/,
    ],
    ['any address at all', { remote: '::0', ...connecting({ mode: 'start' }) }, /start never/],
    [
      'a range of addresses',
      { remote: '10.0.0.1-10.0.0.9', ...connecting({ mode: 'start' }) },
      /start never/,
    ],
    ['a host with a dash', { remote: 'abc-def', ...connecting({ mode: 'start' }) }, /^none$/],
    ['waiting for anybody', { remote: '%any' }, /^none$/],
    [
      'what the other side does',
      connecting({ remote_updown: '/etc/x', remote_firewall: 'yes' }),
      /^spec\.connections\[0\]\.remote_firewall: .*\|spec\.connections\[0\]\.remote_updown: /,
    ],
    ['what it does not', connecting({ remote_updown: '', remote_firewall: 'no' }), /^none$/],
  ])('is warned of: %s', (_what, spec, expected) => {
    expect(words(spec)).toMatch(expected);
  });
});

describe('addresses of a remote', () => {
  const check = (spec: object) => {
    const kind = kindOf('IpsecSite');
    return kind && JSON.stringify(checkSpec(kind, site('a', spec).spec));
  };
  const between = (local_subnet: string) => ({
    connections: [{ ...connection, local_subnet, remote_subnet: '10.2.0.0/16' }],
  });

  it.each([SWANCTL, CLASSIC])('have prefix lengths, of which a mask is one', (input) => {
    const rule = site('a', between('10.1.0.0/255.255.255.0, 10.3.0.0/0.0.0.0'));
    const sections = compile(inputOf([rule, proposal()], input)).desired.get('ipsec') ?? [];
    const section = sections.find(({ type }) => type === 'tunnel');
    expect(String(section?.options['local_subnet'])).toBe('10.1.0.0/24,10.3.0.0/0');
  });

  it.each<[string, object]>([
    ['a mask with a gap', between('10.1.0.0/255.0.255.0')],
    ['an address in octal digits', { remote: '010.255.0.2' }],
    ['an address of two parts', { remote: '10.99' }],
    ['an address in hexadecimal digits', { remote: '0x0aff0002' }],
  ])('are not %s', (_what, spec) => {
    expect(check(spec)).toMatch(/"problem"/);
  });

  it.each(['10.255.0.2', 'fd00::2', '10.example.org', '0xa.example', '%any'])(
    'may be %s',
    (remote) => {
      expect(check({ remote })).not.toMatch(/"problem"/);
    },
  );
});

describe("what OpenWRT's swanctl does not have", () => {
  const verdictOf = (options: object, input: Partial<CompileInput>) =>
    compile(
      inputOf([site('a', { connections: [{ ...connection, ...options }] }), proposal()], input),
    ).verdicts[0];

  it.each<[string, object]>([
    ['mark', { mark: '0x10/0xff' }],
    ['remote_sourceip', { remote_sourceip: '10.9.0.0/24' }],
    ['local_firewall', { local_firewall: 'yes' }],
  ])('keeps a rule with %s out of force there, and only there', (field, options) => {
    const verdict = verdictOf(options, SWANCTL);
    expect(verdict).toMatchObject({ verdict: 'failed', reason: 'UnsupportedByDriver' });
    expect(verdict?.message).toContain(`spec.connections[0].${field}: swanctl`);
    expect(verdict?.sections).toEqual([]);
    expect(verdictOf(options, CLASSIC)).toMatchObject({ verdict: 'wanted' });
  });

  it('is not asked for by values that mean the same as none', () => {
    const options = { mark: '0', remote_sourceip: '', local_firewall: 'no' };
    expect(verdictOf(options, SWANCTL)).toMatchObject({ verdict: 'wanted' });
  });
});

describe('a name of a connection', () => {
  const older = { creationTimestamp: '2025-01-01T00:00:00Z' };
  const named = (name: string) => ({ connections: [{ ...connection, name }] });

  it.each([
    ['a connection', site('b', named('x.y'), older), 'IpsecSite b'],
    ['a rule', ruleOf('IpsecProposal', 'x-y', AEAD, older), 'IpsecProposal x-y'],
  ])('conflicts with one that an older rule has for %s, with its field', (_what, other, who) => {
    const rules = [site('a', { connections: [connection, { ...connection, name: 'x_y' }] }), other];
    const [verdict] = compile(inputOf([...rules, proposal()], SWANCTL)).verdicts;
    expect(verdict).toMatchObject({
      reason: 'NameConflict',
      message: `spec.connections[1].name: the older ${who} has ipsec.x_y`,
    });
  });

  it('is taken when an administrator has it, with its field', () => {
    const observed = new Map([
      ...inputOf([]).observed,
      ['ipsec', { name: 'ipsec', sections: [namedSection('tunnel', 'a_net')] }] as const,
    ]);
    const { verdicts } = compile(inputOf([site('a'), proposal()], { ...SWANCTL, observed }));
    expect(verdicts[0]).toMatchObject({
      reason: 'NameTaken',
      message: expect.stringMatching(/^spec\.connections\[0\]\.name: .* ipsec\.a_net /),
    });
  });
});

describe('pre-shared keys', () => {
  /** Which rule is said to clash with which, by name. */
  const clashes = (
    specs: Readonly<Record<string, object>>,
    input: Partial<CompileInput> = SWANCTL,
  ) => {
    const rules = Object.entries(specs).map(([name, spec]) => site(name, spec));
    const { verdicts } = compile(inputOf([...rules, proposal()], input));
    expect(verdicts.every(({ verdict }) => verdict === 'wanted')).toBe(true);
    return Object.fromEntries(
      verdicts.flatMap(({ rule, clash }) => {
        const other =
          /^spec\.local_identifier: (.+) has another key for the same identities; /.exec(
            clash ?? '',
          )?.[1];
        return clash === undefined ? [] : [[rule.metadata.name, other]];
      }),
    );
  };
  const both = { a: 'IpsecSite b', b: 'IpsecSite a' };
  const ids = (local_identifier?: string, remote_identifier?: string) => ({
    ...(local_identifier !== undefined && { local_identifier }),
    ...(remote_identifier !== undefined && { remote_identifier }),
  });

  it.each<[string, object, object, object]>([
    ['without identities', {}, {}, both],
    ['with the same pair', ids('us', 'them'), ids('us', 'them'), both],
    ['with the same pair in other words', ids('@us', 'C=DE, O=x'), ids('US', 'c=de,o=X'), both],
    ['with the same addresses', ids('fd00::1', 'x'), ids('fd00:0::0001', 'x'), both],
    ['with addresses of a link', ids('fe80::1%a', 'x'), ids('fe80::1%b', 'x'), {}],
    ['with the same type, said and not', ids('us', 'a@b.c'), ids('fqdn:us', 'email:a@b.c'), both],
    ['with the same mail address', ids('us', '@@a@b.c'), ids('us', 'a@b.c'), both],
    ['with any other side', ids('us', '%any'), ids('us', '*'), both],
    ['with any of the other family', ids('us', '0.0.0.0'), ids('us', '0::0'), both],
    ['with any name', ids('us', '@*'), ids('us', '%any'), both],
    ['with the same name', ids('us', 'C=DE, O=x'), ids('us', '/C=DE/O=x'), both],
    ['with the same pair the other way round', ids('us', 'them'), ids('them', 'us'), both],
    ['with an identity of the other side alone', ids('', 'x'), ids(undefined, 'y'), both],
    ['with the same identity of this side alone', ids('us'), ids('us'), both],
    [
      'of which one has a pair that includes the other',
      ids('us'),
      ids('us', 'x'),
      { a: 'IpsecSite b' },
    ],
    ['with pairs of their own', ids('us', 'x'), ids('us', 'y'), {}],
    ['of which only one has none', {}, ids('us', 'y'), {}],
    ['with identities of this side that differ', ids('x'), ids('y'), {}],
    ['with the same key', { pre_shared_key: 'k' }, { pre_shared_key: 'k' }, {}],
  ])('are compared for two remotes %s', (_what, a, b, expected) => {
    expect(clashes({ a, b })).toEqual(expected);
  });

  it('are compared by what is in their Secrets', () => {
    const from = (key: string) => ({
      pre_shared_key: '',
      pre_shared_key_from: { name: 'vpn', key },
    });
    const secrets = (other: string) =>
      new Map([
        ['vpn/one', 'K\n'],
        ['vpn/two', other],
      ]);
    const specs = { a: from('one'), b: from('two') };
    expect(clashes(specs, { ...SWANCTL, secrets: secrets('K') })).toEqual({});
    expect(clashes(specs, { ...SWANCTL, secrets: secrets('L') })).toEqual(both);
  });

  it('have the identity of the other side alone, too, with the classic service', () => {
    expect(clashes({ a: ids('', 'x'), b: ids('', 'y') }, CLASSIC)).toEqual({});
    expect(clashes({ a: {}, b: {} }, CLASSIC)).toEqual(both);
  });

  it("count while they are on for an administrator's", () => {
    const theirs = (enabled: string) =>
      namedSection('remote', 'theirs', {
        enabled,
        authentication_method: 'psk',
        pre_shared_key: 'another',
      });
    const beside = (enabled: string) => ({
      ...SWANCTL,
      observed: new Map([
        ...inputOf([]).observed,
        ['ipsec', { name: 'ipsec', sections: [theirs(enabled)] }] as const,
      ]),
    });
    expect(clashes({ a: {} }, beside('1'))).toEqual({
      a: 'section ipsec.theirs of OpenWRT, which the agent did not make',
    });
    expect(clashes({ a: {} }, beside('0'))).toEqual({});
  });
});
