import { expect, it } from 'vitest';
import { readEnv } from '#shared/runtime/env.ts';
import { coordinatorEnvSchema } from './env.ts';

it('refuses an unknown driver for agents, and lists the known ones', () => {
  expect(() => readEnv(coordinatorEnvSchema, { SDEWAN_AGENT_DRIVER: 'telnet' })).toThrow(
    'SDEWAN_AGENT_DRIVER: Invalid option: expected one of "auto"|"ubus"|"icn"',
  );
});
