/** A caller of the simulator's JSON-RPC, for its own tests. */
import type { Json, JsonObject } from './json.ts';
import { NO_SESSION } from './rpcd/sessions.ts';

export type TestClient = {
  session: string;
  /** `result`, or the code of the error. */
  call: (object: string, method: string, args: JsonObject) => Promise<Json>;
};

export const logIn = async (
  url: string,
  username: string,
  password: string,
): Promise<TestClient> => {
  const post = async (session: string, [object, method, args]: Json[]): Promise<Json> => {
    const response = await fetch(`${url}/ubus`, {
      method: 'POST',
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'call',
        params: [session, object, method, args],
      }),
    });
    const answer: { result?: Json; error?: { code: number } } = JSON.parse(await response.text());
    return answer.result ?? answer.error?.code ?? null;
  };
  const login = await post(NO_SESSION, ['session', 'login', { username, password }]);
  const session = /"ubus_rpc_session":"(\w+)"/.exec(JSON.stringify(login))?.[1] ?? '';
  return { session, call: (object, method, args) => post(session, [object, method, args]) };
};
