/**
 * Faults that tests switch on: which calls they hit, how often, and what happens instead of the
 * answer.
 */
import type { RpcError } from './uhttpd/json-rpc.ts';
import type { Status } from './rpcd/bus.ts';

export type Fault = {
  /**
   * Which calls; a call has to match all that is given. None given: every call. Of ubus object and
   * method; of ICN's REST the object is `rest`, of LuCI's login `luci`, and the method is HTTP's.
   */
  object?: string;
  method?: string;
  /** Text that the JSON of the arguments holds; for HTTP of path and body. */
  contains?: string;
  /** How many calls, Infinity when absent. */
  times?: number;
  /** Calls let through before the first one that is hit; 0 when absent. */
  skip?: number;
  /**
   * `after`: the call is carried out first, and only its answer is lost or changed. Default
   * `before`.
   */
  when?: 'before' | 'after';
  action:
    | { kind: 'delay'; ms: number }
    /** No answer at all; the connection stays open. */
    | { kind: 'hang' }
    /** A JSON-RPC error. */
    | { kind: 'error'; error: RpcError }
    /** A ubus status. */
    | { kind: 'status'; status: Status }
    /**
     * An answer of HTTP; for REST and LuCI only, which know neither `error` nor `status`: there
     * these reset.
     */
    | { kind: 'http'; status: number; body: string; contentType?: string }
    /** TCP reset. */
    | { kind: 'reset' }
    /** The container starts anew: factory configuration, no sessions, all connections reset. */
    | { kind: 'restart' }
    /** rpcd dies as if its answer had been too long. */
    | { kind: 'rpcd dies' };
};

export type Faults = {
  /**
   * Returns how to switch it off again. `onHit` is called when a call is hit, before anything
   * happens to it.
   */
  add: (fault: Fault, onHit?: () => void) => () => void;
  clear: () => void;
  list: () => Fault[];
  /** The first fault that hits this call; counts it. */
  take: (call: {
    object: string;
    method: string;
    args: unknown;
    when: 'before' | 'after';
  }) => Fault | undefined;
};

export const createFaults = (): Faults => {
  let active: { fault: Fault; skip: number; left: number; onHit?: (() => void) | undefined }[] = [];
  return {
    add: (fault, onHit) => {
      const entry = { fault, skip: fault.skip ?? 0, left: fault.times ?? Infinity, onHit };
      active.push(entry);
      return () => {
        active = active.filter((other) => other !== entry);
      };
    },
    clear: () => {
      active = [];
    },
    list: () => active.map(({ fault }) => fault),
    take: (call) => {
      for (const entry of active) {
        if (!hits(entry.fault, call)) continue;
        if (entry.skip > 0) {
          entry.skip -= 1;
          continue;
        }
        entry.left -= 1;
        if (entry.left <= 0) active = active.filter((other) => other !== entry);
        entry.onHit?.();
        return entry.fault;
      }
      return undefined;
    },
  };
};

const hits = (
  fault: Fault,
  call: { object: string; method: string; args: unknown; when: 'before' | 'after' },
): boolean =>
  (fault.when ?? 'before') === call.when &&
  (fault.object === undefined || fault.object === call.object) &&
  (fault.method === undefined || fault.method === call.method) &&
  (fault.contains === undefined || JSON.stringify(call.args).includes(fault.contains));
