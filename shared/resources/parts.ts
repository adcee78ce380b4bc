/**
 * The parts of an OpenWRT that hold something of ours beside its UCI packages. The items of all
 * parts have one life: rules desire them, they are observed, owned, changed by a delta and read
 * back, each by its name. How a part is read and written is the agent's (`agent/openwrt/parts/`);
 * nothing else knows which parts there are.
 */
import type { UciSection } from '../uci/model.ts';
import { deviceFiles } from './device-files.ts';
import type { UciRendering } from './kind.ts';

export type PartBesidePackages = {
  /** Stands where packages have theirs, in what is read, deltas, ledger. No package has a dash. */
  name: string;
  /**
   * What rules of a kind desire of it; several may desire the same item. Undefined for kinds that
   * desire nothing of it.
   */
  desired: (rendering: UciRendering<unknown>) => UciRendering<unknown>['files'];
  /** Those of its items that the sections refer to. */
  referredTo: (
    sections: readonly UciSection[],
    items: readonly UciSection[],
  ) => readonly UciSection[];
};

export const partsBeside: readonly PartBesidePackages[] = [deviceFiles];

export const isPackage = (name: string): boolean => partsBeside.every((part) => part.name !== name);

/** Whether a package, or a part beside it, holds keys, which are not to lie on a disk. */
export const holdsKeys = (name: string): boolean => /^ipsec(\/|$)/.test(name);
