/** A package of which OpenWRT could write the beginning only: less sections, or no valid file. */
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { nameless, othersEqual } from './comparison.ts';
import type { PackageState } from '../read/packages.ts';

type Cut = {
  observed: UciPackage;
  expected: UciPackage;
  base: UciPackage;
  othersAreThere: boolean;
};

const NO_SPACE = 'there may be no space left in its /etc/config';

export const cutShort = (name: string): OpenwrtBlockedError =>
  new OpenwrtBlockedError(
    `change ${name}`,
    `OpenWRT has written only a part of the file: ${NO_SPACE}`,
  );

/**
 * libuci does not look whether it could write the file, and puts what there is of it in place of
 * the package, without a word: an empty one where no space is left (measured). Kept, others'
 * sections would be lost for good.
 */
export const isCutShort = ({ observed, expected, base, othersAreThere }: Cut): boolean => {
  const [found, wanted] = [observed.sections, expected.sections];
  if (found.length === 0) return wanted.length > 0 && base.sections.length > 0;
  return (
    !othersAreThere &&
    found.length < wanted.length &&
    wanted[found.length - 1]?.type.startsWith(found.at(-1)?.type ?? '') === true &&
    found.slice(0, -1).every((section, at) => {
      const there = wanted[at];
      return there !== undefined && sectionsEqual(nameless(section), nameless(there));
    })
  );
};

/** The same between two parts of a change. `expected`: as the first of them leaves it. */
export const isPartCutShort = (
  delta: UciDelta,
  { observed, expected, base }: Omit<Cut, 'othersAreThere'>,
): boolean => {
  const othersAreThere = othersEqual({ inPassing: [] }, observed, expected, delta);
  return isCutShort({ observed, expected, base, othersAreThere });
};

/** What OpenWRT has written does not parse. */
export class UnusableError extends OpenwrtError {
  override name = 'UnusableError';
}

export const unreadable = (name: string, state: PackageState | undefined): OpenwrtError =>
  state?.state === 'unusable'
    ? new UnusableError(`read ${name} back`, `${state.why}; ${NO_SPACE}`)
    : new OpenwrtError(`read ${name} back`, 'OpenWRT does not have the package any more');
