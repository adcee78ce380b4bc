/** Which images are told apart is in test/contract/capabilities.test.ts; here the ACL alone. */
import { describe, expect, it } from 'vitest';
import { capabilitiesOf } from './capabilities.ts';
import { OpenwrtAclError } from './driver.ts';
import { ACCESS_DENIED, type UbusAnswer } from './ubus/client/rpc.ts';
import { fakeSession } from './ubus/client/testing.ts';

const { signal } = new AbortController();
const INVALID_ARGUMENT = 2;
const NO_OBJECT = -32_000;

/** An rpcd that gives this code for a call of the object without arguments. */
const found = (object: string, code: number) => {
  const { session } = fakeSession(({ object: called, args }): UbusAnswer => {
    const isProbed = called === object && args === undefined;
    return { code: isProbed ? code : INVALID_ARGUMENT, data: undefined };
  });
  return capabilitiesOf(session, signal);
};

describe('a web server that does not run as root', () => {
  it.each([
    ['file', 'md5', 4],
    ['uci', 'add', 4],
    ['uci', 'add', 6],
  ])('is refused by the ACL of ubus: %s %s, code %i', async (object, method, code) => {
    const error: unknown = await found(object, code).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenwrtAclError);
    expect(error).toMatchObject({ object, method });
    expect(String(error)).toContain(`ubus ${object} ${method}: the ACL of ubus`);
  });

  it.each([INVALID_ARGUMENT, ACCESS_DENIED, NO_OBJECT])(
    'may call it with code %i',
    async (code) => {
      expect(await found('uci', code)).toMatchObject({ dialect: 'uci' });
    },
  );
});
