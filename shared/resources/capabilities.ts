/**
 * The capabilities of an OpenWRT, as far as images differ: one value, determined once in each
 * session with it (`agent/openwrt/capabilities.ts`). Rules and drivers decide on it, and nothing
 * else asks what kind of image it is.
 */

/** Two ways of writing rules to an OpenWRT: as UCI sections, or as objects of ICN's REST API. */
export type Dialect = 'uci' | 'icn';

/**
 * `classic`: `/etc/init.d/ipsec`, which ICN's image has too. `swanctl`: `/etc/init.d/swanctl` of
 * OpenWRT 22.03 and later.
 */
export type IpsecDialect = 'classic' | 'swanctl';

/** The IPsec service of an OpenWRT, as far as rules have to know it. */
export type IpsecService = {
  dialect: IpsecDialect;
  /**
   * Which section holds what is one for all remotes: that of the name `globals`, or the last one of
   * the type `ipsec`.
   */
  settings: 'globals' | 'last';
  /** Why no certificates can be given to it; undefined when they can. */
  noCertificates?: string | undefined;
};

export type Capabilities = {
  /** How rules are written to it. */
  dialect: Dialect;
  /** What makes rules of the kernel of package firewall: fw4 for nftables, fw3 for iptables. */
  firewall: 'fw3' | 'fw4';
  /**
   * Whether its firewall is sure to have sets: nftables has them; fw3 takes program ipset, which
   * images may lack and ubus does not show.
   */
  sets: boolean;
  ipsec: IpsecService;
  mwan3: boolean;
};

/** Where nothing else is known: an OpenWRT of today, with the IPsec service that all have had. */
export const ASSUMED: Capabilities = {
  dialect: 'uci',
  firewall: 'fw4',
  sets: true,
  ipsec: { dialect: 'classic', settings: 'last' },
  mwan3: true,
};

/** What an OpenWRT of today has, for programs that judge rules without one. */
export const OF_TODAY: Capabilities = {
  ...ASSUMED,
  ipsec: { dialect: 'swanctl', settings: 'globals' },
};
