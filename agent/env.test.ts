import { describe, expect, it } from 'vitest';
import { readEnv } from '#shared/runtime/env.ts';
import { agentEnvSchema, loginFilesOf } from './env.ts';

const read = (more: Record<string, string>) =>
  readEnv(agentEnvSchema, {
    SDEWAN_PURPOSE: 'p',
    SDEWAN_NAMESPACE: 'n',
    SDEWAN_POD_NAME: 'pod',
    SDEWAN_COORDINATOR_URL: 'https://localhost',
    SDEWAN_COORDINATOR_TOKEN_FILE: '/token',
    ...more,
  });

it('refuses an unknown driver, and lists the known ones', () => {
  expect(() => read({ SDEWAN_DRIVER: 'telnet' })).toThrow(
    'SDEWAN_DRIVER: Invalid option: expected one of "auto"|"ubus"|"icn"',
  );
});

it('watches each change for 30 seconds, unless the CNF has switched that off', () => {
  expect(read({}).SDEWAN_COMMIT_CONFIRM).toBe(30);
  expect(read({ SDEWAN_COMMIT_CONFIRM: 'off' }).SDEWAN_COMMIT_CONFIRM).toBe('off');
});

describe('the login on OpenWRT', () => {
  const named = { SDEWAN_OPENWRT_USERNAME_FILE: '/u', SDEWAN_OPENWRT_PASSWORD_FILE: '/p' };
  const own = { SDEWAN_OWN_LOGIN_DIR: '/own' };

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['auto', own, { ubus: '/own/password' }],
    ['auto', named, { ubus: '/p', icn: '/p' }],
    ['auto', { ...named, ...own }, { ubus: '/own/password', icn: '/p' }],
    ['ubus', own, { ubus: '/own/password' }],
    ['ubus', named, { ubus: '/p' }],
    ['icn', { ...named, ...own }, { icn: '/p' }],
  ])('gives driver %s with %j the login %j', (driver, given, expected) => {
    const logins = loginFilesOf(read({ SDEWAN_DRIVER: driver, ...given }));
    const passwords = [...logins].map(([name, { passwordFile }]) => [name, passwordFile]);
    expect(Object.fromEntries(passwords)).toEqual(expected);
  });

  const FILES = 'SDEWAN_OPENWRT_USERNAME_FILE and SDEWAN_OPENWRT_PASSWORD_FILE';
  it.each<[string, Record<string, string>, string]>([
    ['auto', {}, `${FILES}, or SDEWAN_OWN_LOGIN_DIR: required but not set`],
    ['ubus', {}, `${FILES}, or SDEWAN_OWN_LOGIN_DIR: required but not set`],
    ['icn', own, `${FILES}: required but not set`],
  ])('is required for driver %s with %j', (driver, given, message) => {
    expect(() => loginFilesOf(read({ SDEWAN_DRIVER: driver, ...given }))).toThrow(message);
  });
});
