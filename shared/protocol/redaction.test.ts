import { describe, expect, it } from 'vitest';
import { createRedaction, isSecretName } from './redaction.ts';

describe('a name tells a secret', () => {
  it.each([
    'pre_shared_key',
    'local_private_cert',
    'shared_ca',
    'password',
    'root_passwd',
    'token',
    'sessionId',
    'ubus_rpc_session',
    'privateKey',
    'wg_preshared_key',
    'key',
    'authorization',
  ])('%s', (name) => {
    expect(isSecretName(name)).toBe(true);
  });
});

describe('a name tells no secret', () => {
  it.each([
    'keyexchange',
    'keyingtries',
    'crypto_proposal',
    'authentication_method',
    'pre_shared_key_from',
    'name',
    'dest_port',
    'monkey',
    'target',
    'key_file',
  ])('%s', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

describe('a redaction', () => {
  it('hides known values wherever they stand, as they are and in base64', () => {
    const redaction = createRedaction();
    redaction.add(['correct horse']);
    const encoded = Buffer.from('correct horse').toString('base64');
    const text = redaction.text(`a correct horse, ${encoded}`);
    expect(text).not.toMatch(/horse/);
    expect(text).not.toContain(encoded);
  });

  it('has one mark for one value, so that two are told apart, and another in the next redaction', () => {
    const [one, other] = [createRedaction(), createRedaction()];
    expect(one.value('token', 'a')).toBe(one.value('password', 'a'));
    expect(one.value('token', 'a')).not.toBe(one.value('token', 'b'));
    expect(one.value('token', 'a')).not.toBe(other.value('token', 'a'));
  });

  it('does not hide a short word everywhere since somewhere it is a secret', () => {
    const redaction = createRedaction();
    redaction.add(['lan']);
    expect(redaction.text('zone lan')).toBe('zone lan');
    expect(redaction.value('password', 'lan')).not.toContain('lan');
  });

  it('hides private keys, tokens and sessions in any text', () => {
    const redaction = createRedaction();
    const pem = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----';
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${'a'.repeat(20)}.${'b'.repeat(20)}`;
    const session = '0123456789abcdef0123456789abcdef';
    const text = redaction.text(`${pem} ${jwt} ${session}`);
    expect(text).toMatch(/^(\[secret [0-9a-f]{6}\] ?){3}$/);
  });

  it('hides fields of objects, and not the names in references', () => {
    const redaction = createRedaction();
    const shown = redaction.json({
      spec: {
        pre_shared_key: 'abc',
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        connections: [{ token: ['x'], port: 80 }],
      },
    });
    expect(shown).toMatchObject({
      spec: {
        pre_shared_key: expect.stringContaining('[secret'),
        pre_shared_key_from: { name: 'vpn', key: 'psk' },
        connections: [{ token: [expect.stringContaining('[secret')], port: 80 }],
      },
    });
  });
});
