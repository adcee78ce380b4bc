/**
 * The drivers that an agent can be asked for: by its environment, by a pod's annotation, by the
 * coordinator's defaults. What each of them does is the agent's (`agent/openwrt/drivers.ts`); a
 * name that is not here is refused wherever it is given.
 */
import type { Dialect } from '../resources/capabilities.ts';

type DriverFacts = {
  name: string;
  /** Completes "`name` for …". */
  api: string;
  dialect: Dialect;
  /** Whose login it needs, from a Secret; absent: the agent can make one of its own. */
  needsLogin?: string;
};

export const UBUS = {
  name: 'ubus',
  api: 'JSON-RPC at `/ubus`',
  dialect: 'uci',
} as const satisfies DriverFacts;

export const ICN = {
  name: 'icn',
  api: "the REST API of ICN's CNF image",
  dialect: 'icn',
  needsLogin: 'root',
} as const satisfies DriverFacts;

export type DriverName = (typeof UBUS | typeof ICN)['name'];
/** `auto`: the first one whose API the OpenWRT speaks. */
export type DriverChoice = 'auto' | DriverName;

/** In the order in which `auto` tries them. */
export const drivers: readonly (DriverFacts & { name: DriverName })[] = [UBUS, ICN];

export const driverChoices: readonly DriverChoice[] = ['auto', ...drivers.map(({ name }) => name)];

export const driversFor = (choice: DriverChoice): typeof drivers =>
  drivers.filter(({ name }) => choice === 'auto' || choice === name);

/** Whose login the choice needs; undefined where the agent can make one of its own. */
export const loginNeededBy = (choice: DriverChoice): string | undefined => {
  const needed = driversFor(choice).map(({ needsLogin }) => needsLogin);
  return needed.includes(undefined) ? undefined : needed[0];
};
