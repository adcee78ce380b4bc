/**
 * The CR by itself: its spec by the schema that agents use, its name as OpenWRT can hold it, and
 * networks that its CNF has.
 */
import { checkMetadata, checkSpec } from '#shared/compile/check.ts';
import { withoutInterface } from '#shared/compile/networks.ts';
import { OF_TODAY } from '#shared/resources/capabilities.ts';
import { itHas } from '#shared/util/few.ts';
import type { Check, RuleChange } from './check.ts';

export const specIsValid: Check = ({ after, specChanged, kind }) => {
  if (after === undefined || !specChanged) return undefined;
  const checked = checkSpec(kind, after.spec);
  return 'problem' in checked
    ? { reason: 'InvalidSpec', message: checked.problem.message }
    : undefined;
};

/** Undefined: there is none to be looked at, or `specIsValid` refuses it. */
const newSpec = ({ after, specChanged, kind }: RuleChange): { spec: unknown } | undefined => {
  if (after === undefined || !specChanged) return undefined;
  const checked = checkSpec(kind, after.spec);
  return 'problem' in checked ? undefined : checked;
};

/** What the CNF has is for its agents to find out; few have another. */
const ON_OPENWRT = { capabilities: OF_TODAY };

/** What is allowed, and may not be what its author expects. */
export const cautionsOf: Check = (change) => {
  const { kind } = change;
  const checked = newSpec(change);
  if (checked === undefined) return undefined;
  const cautions = [
    ...(kind.cautions?.(checked.spec) ?? []),
    ...(kind.uci?.leftOut?.(checked.spec, ON_OPENWRT) ?? []).map(
      ({ path, message }) => `${path}: ${message}`,
    ),
  ];
  return cautionWith(cautions);
};

export const nameIsUsual: Check = ({ name, kind }) => cautionWith(kind.nameCautions?.(name) ?? []);

const cautionWith = (words: readonly string[]): ReturnType<Check> =>
  words.length === 0 ? undefined : { reason: 'Caution', message: words.join('; ') };

/** Also on updates: annotations can change at any time. */
export const metadataIsValid: Check = ({ operation, before, after, kind }) => {
  if (after === undefined) return undefined;
  const problem = checkMetadata(kind, after);
  if (problem === undefined) return undefined;
  // What was wrong before must not block a change of something else.
  if (operation === 'UPDATE' && before && checkMetadata(kind, before)) return undefined;
  return {
    reason: problem.reason === 'NameTooLong' ? 'NameTooLong' : 'InvalidSpec',
    message: problem.message,
  };
};

/**
 * Networks that the spec names, against the CNF's annotations. Multus names interfaces later.
 * Silent while there is no CNF.
 */
export const networksExist: Check = (change, { networks }) => {
  const { kind, namespace } = change;
  const checked = newSpec(change);
  if (checked === undefined || networks === undefined) return undefined;
  const unknown = (kind.networks?.(checked.spec) ?? []).filter(
    ({ network }) => !networks.has(withoutInterface(network)),
  );
  if (unknown.length === 0) return undefined;
  const own = `${namespace}/`;
  const known = [...networks].filter((name) => !name.startsWith(own));
  return {
    reason: 'UnknownNetwork',
    message: `${unknown.map(({ path, network }) => `${path}: ${network}`).join(', ')} is not a network of the CNF${itHas(known)}`,
  };
};

/** A network is called by its name elsewhere, and a device of that name is rare. */
export const deviceIsNoNetwork: Check = (change, { networks }) => {
  const checked = newSpec(change);
  if (checked === undefined || networks === undefined) return undefined;
  const named = change.kind.devices?.(checked.spec) ?? [];
  const meant = named.filter(({ device }) => networks.has(device));
  return cautionWith(
    meant.map(
      ({ path, device }) =>
        `${path}: ${device} is a network of the CNF: name its interface, as the annotations of the pod have it`,
    ),
  );
};
