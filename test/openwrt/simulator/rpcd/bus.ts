/** ubus as uhttpd sees it: objects with methods, their signatures, and status codes. */
import { isArray, isObject, type Json, type JsonObject } from '../json.ts';

/** The codes that end up in `result[0]`. */
export const STATUS = {
  ok: 0,
  invalidArgument: 2,
  methodNotFound: 3,
  notFound: 4,
  noData: 5,
  permissionDenied: 6,
  timeout: 7,
  notSupported: 8,
  unknownError: 9,
} as const;

export type Status = (typeof STATUS)[keyof typeof STATUS];
/** As `list` names them. `integer` is a 32-bit one. */
export type ArgumentType = 'string' | 'integer' | 'boolean' | 'array' | 'object';
export type Reply = { status: Status; data?: JsonObject };
export type Caller = { session: string };
export type Method = {
  arguments: Readonly<Record<string, ArgumentType>>;
  call: (args: Arguments, caller: Caller) => Reply | Promise<Reply>;
};
export type BusObject = Readonly<Record<string, Method>>;

/** The arguments of a call. One of a wrong type counts as absent, as with blobmsg. */
export class Arguments {
  readonly #values: JsonObject;

  constructor(values: JsonObject) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    return typeof value === 'string' ? value : undefined;
  }

  /** An integer of 32 bits. */
  integer(name: string): number | undefined {
    const value = this.#value(name);
    return typeof value === 'number' && value === (value | 0) ? value : undefined;
  }

  /** False when absent. */
  flag(name: string): boolean {
    return this.#value(name) === true;
  }

  array(name: string): readonly Json[] | undefined {
    const value = this.#value(name);
    return isArray(value) ? value : undefined;
  }

  object(name: string): JsonObject | undefined {
    const value = this.#value(name);
    return isObject(value) ? value : undefined;
  }

  #value(name: string): Json | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }
}

export const ok = (data?: JsonObject): Reply =>
  data === undefined ? { status: STATUS.ok } : { status: STATUS.ok, data };
export const failed = (status: Status): Reply => ({ status });

/** Every method of rpcd's own objects also takes the session. */
export const SESSION_ARGUMENT = { ubus_rpc_session: 'string' } as const;

export class Bus {
  readonly #objects = new Map<string, BusObject>();

  add(name: string, object: BusObject): void {
    this.#objects.set(name, object);
  }

  remove(name: string): void {
    this.#objects.delete(name);
  }

  has(name: string): boolean {
    return this.#objects.has(name);
  }

  names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  /** Answers `methodNotFound` for an unknown method; the object must exist. */
  async call(
    target: { object: string; method: string },
    args: JsonObject,
    caller: Caller,
  ): Promise<Reply> {
    const methods = this.#objects.get(target.object) ?? {};
    const method = Object.hasOwn(methods, target.method) ? methods[target.method] : undefined;
    if (!method) return failed(STATUS.methodNotFound);
    return method.call(new Arguments(args), caller);
  }

  /** Signatures of the objects that match; a trailing `*` is a prefix match. */
  signatures(pattern: string): [string, JsonObject][] {
    const matches = (name: string): boolean =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
    return this.names()
      .filter(matches)
      .map((name) => [name, signature(this.#objects.get(name) ?? {})]);
  }
}

const signature = (object: BusObject): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([name, method]) => [
      name,
      Object.fromEntries(
        Object.entries(method.arguments).map(([argument, type]) => [
          argument,
          type === 'integer' ? 'number' : type,
        ]),
      ),
    ]),
  );
