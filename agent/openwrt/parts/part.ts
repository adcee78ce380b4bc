/**
 * A part of what an OpenWRT holds, over ubus: its UCI packages, our files, and what follows. What
 * all parts hold is told apart by name (of a package, or of a part beside the packages) and goes
 * the same way: read, compared with what the rules desire (`shared/resources/parts.ts`), changed by
 * a delta, read back. A part is added by an entry in `parts.ts`.
 */
import type { Capabilities } from '#shared/resources/capabilities.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { OpenwrtError } from '../driver.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import type { Grants } from '../ubus/login/grants.ts';
import type { Space } from '../ubus/write/space.ts';
import type { Timing, TransactionResult } from '../ubus/write/transaction.ts';
import type { Base, PackageState } from '../ubus/read/packages.ts';
import type { Transaction, WritePath } from '../ubus/write/write-path.ts';

/** An OpenWRT as it is in this session. */
export type DeviceNow = {
  session: UbusSession;
  path: WritePath;
  capabilities: Capabilities;
  /** UCI packages that the agent's rules go to, and those that its login may write. */
  packages: readonly string[];
  writable: ReadonlySet<string>;
  /** What was read last; while all parts are read, that of the parts before is of now. */
  lastRead: ReadonlyMap<string, PackageState>;
  clock: Pick<Clock, 'sleep'>;
};

export type Change = Pick<DeviceNow, 'session' | 'path' | 'lastRead'> & {
  timing: Timing;
  amender?: Transaction['amender'];
  /** Absent: how much there is is not known. */
  space?: Space | undefined;
  deltas: readonly UciDelta[];
  signal: AbortSignal;
};

/** Applies the deltas that are its own. @throws OpenwrtError */
export type Carry = (change: Change) => Promise<TransactionResult>;

export type Part = {
  holds: (name: string) => boolean;
  /** By name. @throws OpenwrtError */
  read: (device: DeviceNow, signal: AbortSignal) => Promise<ReadonlyMap<string, PackageState>>;
  /**
   * By name, the versions that `read` would give, without reading all of it; none for what is not
   * there. @throws OpenwrtError
   */
  fingerprint: (device: DeviceNow, signal: AbortSignal) => Promise<ReadonlyMap<string, string>>;
  /** What has to change under one name. */
  delta: (input: DeltaInput) => UciDelta;
  /**
   * Applies the deltas of its names, around `others`, which does so for the parts before it; all is
   * as before when the change is rejected. A delta that changes nothing has what uses the part take
   * it anew. @throws OpenwrtError
   */
  apply: (change: Change, others: Carry) => Promise<TransactionResult>;
  /** What the login needs for all that. */
  rights: (packages: readonly string[]) => Grants;
};

/** What deltas of this name were made for. @throws OpenwrtError */
export const baseOf = (lastRead: ReadonlyMap<string, PackageState>, name: string): Base => {
  const state = lastRead.get(name);
  if (state?.state !== 'read') throw new OpenwrtError(`change ${name}`, 'it has not been read yet');
  return state;
};
