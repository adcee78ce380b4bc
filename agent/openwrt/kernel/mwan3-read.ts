/** What verb `mwan3` of the helper prints, whichever program it had chains from. Pure and total. */
import { readIptables } from './mwan3-iptables.ts';
import { readNft } from './mwan3-nft.ts';
import type { Mwan3Loaded } from './mwan3-compare.ts';

/** Undefined: this OpenWRT has no iptables, and no mwan3 that uses nft. */
export const readMwan3 = (text: string): Mwan3Loaded | undefined => {
  const parts = new Map(
    text.split(/^== /m).map((part): [string, readonly string[]] => {
      const [head = '', ...lines] = part.trimEnd().split('\n');
      const [name = '', ...words] = head.split(' ');
      return name === 'online' ? [name, words] : [head, lines];
    }),
  );
  const nft = parts.get('nft');
  const families = nft ? readNft(nft) : readIptables(parts);
  return families.size === 0 ? undefined : { online: new Set(parts.get('online')), families };
};
