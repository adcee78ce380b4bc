/** Sections as the kinds render them, such as every API can hold, and what the suite looks at. */
import type { UciDelta, UciPackage, UciSection, UciValue } from '#shared/uci/model.ts';
import { deltaOf } from '#shared/uci/delta.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import type { JudgedSection } from '../../judge/uci.ts';
import type { Target } from './target.ts';

/** Marks what the suite makes, on an OpenWRT that has other things too. */
export const OURS = 'sdewan_rule_conformance_';

export const isOurs = ({ name }: { name?: string | undefined }): boolean =>
  name?.startsWith(OURS) ?? false;

export const rule = (name: string, options: Record<string, UciValue> = {}): UciSection => ({
  name: `${OURS}${name}`,
  anonymous: false,
  type: 'rule',
  options: {
    name: `conformance-${name}`,
    src: 'lan',
    proto: 'tcp',
    dest_port: '80',
    target: 'REJECT',
    ...options,
  },
});

/** What the reconcile loop would ask for. */
export const deltaTo = (
  observed: ReadonlyMap<string, UciPackage>,
  desired: readonly UciSection[],
): UciDelta =>
  deltaOf({
    observed: observed.get('firewall') ?? { name: 'firewall', sections: [] },
    desired,
    isOurs,
  });

export const NEVER = new AbortController().signal;

/** Reads, brings the firewall to `desired`, and gives the answer. */
export const bring = async (driver: Driver, desired: readonly UciSection[]) => {
  const { packages } = await driver.read(NEVER);
  return driver.apply([deltaTo(packages, desired)], NEVER);
};

export type Shown = { name: string | undefined; type: string; options: JudgedSection['options'] };

export const shown = ({ name, type, options }: UciSection): Shown => ({
  name,
  type,
  options: Object.fromEntries(
    Object.entries(options).map(([option, value]) => [
      option,
      typeof value === 'string' ? value : [...value],
    ]),
  ),
});

export const oursIn = async (target: Target): Promise<JudgedSection[]> =>
  (await target.sections('firewall')).filter(isOurs);

export const foreignIn = async (target: Target): Promise<JudgedSection[]> =>
  (await target.sections('firewall')).filter((section) => !isOurs(section));
