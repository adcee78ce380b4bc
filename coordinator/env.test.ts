import { expect, it } from 'vitest';
import { readEnv } from '#shared/runtime/env.ts';
import { coordinatorEnvSchema } from './env.ts';

it('refuses a driver of agents that there is none of, and names those that there are', () => {
  expect(() => readEnv(coordinatorEnvSchema, { SDEWAN_AGENT_DRIVER: 'telnet' })).toThrow(
    'SDEWAN_AGENT_DRIVER: Invalid option: expected one of "auto"|"ubus"|"icn"',
  );
});
