/** What ICN's REST answers instead of an object. */

/** `{"message":"…"}` as text/plain, the message also as reason phrase, neither escaped. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An error in ICN's Lua: 500 with its text. What was staged before it stays staged. */
export class LuaError extends Error {
  override name = 'LuaError';
}

/** `script:line: what`, as LuCI prints it; the stack trace behind it is not simulated. */
export const luaError = (place: string, what: string): LuaError => {
  const [script = '', line = ''] = place.split(':');
  const path = `/usr/lib/lua/luci/controller/rest_v1/${script}`;
  const shown = path.length > LONGEST_SCRIPT ? `...${path.slice(-LONGEST_SCRIPT)}` : path;
  return new LuaError(`${shown}:${line}: ${what}`);
};

/** Lua's messages show the end of a longer one. */
const LONGEST_SCRIPT = 52;
