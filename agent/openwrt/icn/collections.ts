/** The collections of ICN's REST API: where they are, and what brings an object into force. */
import type { UciSection } from '#shared/uci/model.ts';

export type Service = 'mwan3' | 'firewall' | 'ipsec';

export type Collection = {
  /** As a package of the dialect `icn`. */
  package: string;
  path: string;
  /** The key of the list in the answer, and the type of its sections. */
  key: string;
  /** Whose action puts its objects into force. Without one, each call does. */
  service?: Service;
  /**
   * Objects take effect by the call, in iptables, which cannot be read back: gone when the firewall
   * restarts.
   */
  inIptables?: true;
  /** Objects take effect by the call, where v1/status shows it: REST itself does not look. */
  shownBy?: 'route' | 'rule';
  /** Whether the first of two objects that match wins. */
  isOrdered?: true;
  /** Others refer to its objects: REST refuses to remove one in use. */
  isReferredTo?: true;
  /** Field with a list of objects. */
  nested?: string;
};

/** A change of one object. */
export type Write =
  | {
      verb: 'POST' | 'PUT';
      collection: Collection;
      section: UciSection;
      before?: UciSection;
      /** Fields that the API acts on, and that are not the object's. */
      also?: Readonly<Record<string, string>>;
    }
  /** `first`: what the object is replaced by before it goes. */
  | { verb: 'DELETE'; collection: Collection; name: string; first?: UciSection };

const collection = (
  name: string,
  rest: Omit<Collection, 'package' | 'path' | 'key'>,
): Collection => {
  const [api = '', key = ''] = name.split('/');
  return { package: name, path: `${api}/v1/${key}`, key, ...rest };
};

/** In an order in which what others refer to comes first. */
export const COLLECTIONS: readonly Collection[] = [
  collection('firewall/zones', { service: 'firewall', isReferredTo: true }),
  collection('firewall/forwardings', { service: 'firewall' }),
  collection('firewall/rules', { service: 'firewall', isOrdered: true }),
  collection('firewall/redirects', { service: 'firewall', isOrdered: true }),
  collection('networkfirewall/rules', { service: 'firewall', inIptables: true, isOrdered: true }),
  collection('nat/nats', { service: 'firewall', inIptables: true, isOrdered: true }),
  collection('mwan3/policies', { service: 'mwan3', isReferredTo: true, nested: 'members' }),
  collection('mwan3/rules', { service: 'mwan3', isOrdered: true }),
  collection('route/routes', { shownBy: 'route' }),
  collection('rule/rules', { shownBy: 'rule', isOrdered: true }),
  collection('application/applications', { shownBy: 'rule' }),
  collection('ipsec/proposals', { service: 'ipsec', isReferredTo: true }),
  collection('ipsec/remotes', { service: 'ipsec', nested: 'connections' }),
];

const byPackage = new Map(COLLECTIONS.map((each) => [each.package, each]));

/** @throws Error for a package that is none of the dialect */
export const collectionOf = (name: string): Collection => {
  const found = byPackage.get(name);
  if (found === undefined) throw new Error(`ICN's REST API has no collection ${name}`);
  return found;
};
