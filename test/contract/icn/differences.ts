/**
 * The exchanges of the recording icn-rest-more that the simulator does not answer alike, and why.
 */

const WHY: readonly { why: string; names: RegExp }[] = [
  { why: 'the legacy service API is not simulated: nobody may use it', names: /^svc: / },
  {
    why: 'addresses of the recording machine, and a link that its rig took down',
    names: /^status: GET (?:all|interface|trailing slash)/,
  },
  {
    why: 'routes over several gateways, blackholes and metrics that the rig set by hand',
    names: /^status: GET route$/,
  },
  { why: 'ages that the stand-in of mwan3 counts', names: /^status: GET wan$/ },
  { why: 'connections that the rig injected', names: /^status: GET conntrack$/ },
  {
    why: 'texts that a stand-in of `ipsec status` printed',
    names: /^status: GET ipsec, (?!nothing)/,
  },
];

/** How many that are. */
export const NOT_REPLAYED = 35;

export const whyNotReplayed = (name: string): string | undefined =>
  WHY.find(({ names }) => names.test(name))?.why;
