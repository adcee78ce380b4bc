/**
 * What the API sets in OpenWRT's package ipsec for all remotes by the `type` of one: `vip_enabled`
 * 0 for one that is VTI-based, else 1, which is how it is without the option (`rtinstall_enabled`
 * is 0 either way, and without it). It never sets it back, so the last VTI-based remote does as it
 * goes. The others bear no type, which would take it from those that are.
 */
import { VTI_BASED } from '#shared/resources/rules/ipsec-remote-fields.ts';
import type { UciSection } from '#shared/uci/model.ts';
import type { Write } from './collections.ts';

export const REMOTES = 'ipsec/remotes';
const NOT_VTI = { type: 'policy-based' };

/** The writes, plus one that resets the option where no remote stays VTI-based. */
export const withoutVti = (
  writes: readonly Write[],
  listed: readonly UciSection[],
): readonly Write[] => {
  const vti = new Map(listed.filter(isVti).map((each) => [each.name, each]));
  const written = writes.filter(({ collection }) => collection.package === REMOTES);
  const touched = new Set(written.map(nameOf));
  const stays =
    [...vti.keys()].some((name) => !touched.has(name)) ||
    written.some((write) => write.verb !== 'DELETE' && isVti(write.section));
  if (stays) return writes;
  return writes.map((write): Write => {
    const before = write.collection.package === REMOTES ? vti.get(nameOf(write)) : undefined;
    if (before === undefined) return write;
    return write.verb === 'DELETE'
      ? { ...write, first: emptied(before) }
      : { ...write, also: NOT_VTI };
  });
};

const isVti = ({ options }: UciSection): boolean => options.type === VTI_BASED;

const nameOf = (write: Write): string =>
  write.verb === 'DELETE' ? write.name : write.section.name;

/** The least that the API takes: without proposals, which may be gone, and without connections. */
const emptied = ({ options, ...remote }: UciSection): UciSection => ({
  ...remote,
  options: {
    ...NOT_VTI,
    gateway: options.gateway ?? '',
    authentication_method: 'psk',
    pre_shared_key: options.pre_shared_key ?? 'none',
  },
});
