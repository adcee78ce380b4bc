/** An rpcd of which a test decides the answers. */
import { UBUS_STATUS, type UbusAnswer, type UbusCall } from './rpc.ts';
import { checked, type UbusSession } from '../login/session.ts';

export const answered = (data: unknown = {}): UbusAnswer => ({ code: 0, data });
export const refusedBy = (status: keyof typeof UBUS_STATUS): UbusAnswer => ({
  code: UBUS_STATUS[status],
  data: undefined,
});

/** `calls` holds every call so far. */
export const fakeSession = (
  answer: (call: UbusCall) => UbusAnswer,
): { session: UbusSession; calls: readonly UbusCall[] } => {
  const calls: UbusCall[] = [];
  const send = (call: UbusCall): UbusAnswer => {
    calls.push(call);
    return answer(call);
  };
  const session: UbusSession = {
    id: '0123456789abcdef'.repeat(2),
    attempt: async (several) => several.map(send),
    call: async (call, schema) => checked(call, send(call), schema),
  };
  return { session, calls };
};
