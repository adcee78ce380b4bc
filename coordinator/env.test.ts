import { expect, it } from 'vitest';
import { readEnv } from '#shared/runtime/env.ts';
import { coordinatorEnvSchema, injectOptionsOf } from './env.ts';

it('refuses an unknown driver for agents, and lists the known ones', () => {
  expect(() => readEnv(coordinatorEnvSchema, { SDEWAN_AGENT_DRIVER: 'telnet' })).toThrow(
    'SDEWAN_AGENT_DRIVER: Invalid option: expected one of "auto"|"ubus"|"icn"',
  );
});

it('gives agents a CPU limit where it is asked for', () => {
  const limitsWith = (given: Record<string, string>) =>
    injectOptionsOf(readEnv(coordinatorEnvSchema, given), 'sdewan-system').resources.limits;
  expect(limitsWith({})).toEqual({ memory: '128Mi' });
  expect(limitsWith({ SDEWAN_AGENT_CPU_LIMIT: '500m' })).toEqual({ cpu: '500m', memory: '128Mi' });
});

it.each(['http://127.0.0.1:8444', 'http://[::1]:0', 'https://10.1.2.3:8444'])(
  'serves the dashboard at %s',
  (url) => {
    const { SDEWAN_DASHBOARD_URL } = readEnv(coordinatorEnvSchema, { SDEWAN_DASHBOARD_URL: url });
    expect(SDEWAN_DASHBOARD_URL).toBe(url);
  },
);

it.each(['http://10.1.2.3:8444', 'http://0.0.0.0:8444'])(
  'serves no dashboard at %s, where others would read along',
  (url) => {
    expect(() => readEnv(coordinatorEnvSchema, { SDEWAN_DASHBOARD_URL: url })).toThrow(
      'SDEWAN_DASHBOARD_URL: must be on loopback, or https',
    );
  },
);
