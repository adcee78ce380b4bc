/**
 * The addresses that a pod has in second networks, as Nodus and Multus write them into its
 * annotations. Nodus' list has the interface and not the network, which the entry of `nfn-network`
 * with that interface names. An attachment of Multus is known by its namespace and name, and by its
 * name alone to a CNF whose `nfn-network` has that. A user with the right to change the pod can
 * write anything there: what does not parse, or is longer than any real one, counts for nothing.
 */
import * as z from 'zod';
import { readStatus, type StatusEntry } from '#shared/compile/multus.ts';
import { ifShort, parseNetworks } from '#shared/compile/networks.ts';
import {
  NETWORK_STATUS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  OVN_INTERFACES_ANNOTATION,
} from '#shared/names.ts';
import { blockText, parseBlock, withoutLength } from '#shared/policy/address-blocks.ts';
import { bareName, CLUSTER_PLACE, type SecondAddresses } from '#shared/policy/networks.ts';
import { jsonIn } from '#shared/util/json.ts';

/** Entries of one pod. */
const MAX_ENTRIES = 32;

const addressSchema = z.string().max(64);
const ipsSchema = z.array(addressSchema).max(8);
const ovnSchema = z
  .array(
    z.object({
      // One text up to Nodus v5.0.0, and a list of both families since v5.2.0.
      ip_address: z.union([addressSchema.transform((block) => [block]), ipsSchema]),
      interface: z.string().max(64),
    }),
  )
  .max(MAX_ENTRIES);
type Annotations = Readonly<Record<string, string>>;

export const secondAddressesIn = (annotations: Annotations): SecondAddresses[] => {
  const found = [
    ...ovnInterfaces(annotations).map(({ network, block }) => ({
      network,
      addresses: [withoutLength(block)],
    })),
    ...multusEntriesIn(annotations).flatMap(({ name, ips }) =>
      [...new Set([name, bareName(name)])].map((network) => ({ network, addresses: ips })),
    ),
  ].filter(({ network }) => bareName(network) !== CLUSTER_PLACE);
  const merged = new Map<string, string[]>();
  for (const { network, addresses } of found)
    merged.set(network, [...new Set([...(merged.get(network) ?? []), ...addresses])]);
  return [...merged].map(([network, addresses]) => ({ network, addresses }));
};

/** Subnets of its networks, if its own addresses say their length (not in provider networks). */
export const subnetsIn = (annotations: Annotations): { network: string; subnet: string }[] =>
  ovnInterfaces(annotations).flatMap(({ network, block }) => {
    const subnet = parseBlock(block);
    return subnet ? [{ network, subnet: blockText(subnet) }] : [];
  });

/** As Nodus has given them: the interface and its addresses, with the length of the prefix. */
export const nodusEntriesIn = (annotations: Annotations): z.infer<typeof ovnSchema> =>
  parsed(annotations[OVN_INTERFACES_ANNOTATION], ovnSchema) ?? [];

/** As Multus has given them, without the cluster's network. */
export const multusEntriesIn = (annotations: Annotations): StatusEntry[] => {
  const read = readStatus(ifShort(annotations[NETWORK_STATUS_ANNOTATION]));
  return 'problem' in read || read.length > MAX_ENTRIES ? [] : read;
};

const ovnInterfaces = (annotations: Annotations): { network: string; block: string }[] => {
  const entries = nodusEntriesIn(annotations);
  if (entries.length === 0) return [];
  const networkOf = new Map<string, string>();
  try {
    const attached = annotations[NFN_NETWORK_ANNOTATION];
    for (const [network, name] of parseNetworks(ifShort(attached))) networkOf.set(name, network);
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const network = networkOf.get(entry.interface);
    return network === undefined ? [] : entry.ip_address.map((block) => ({ network, block }));
  });
};

const parsed = <T>(text: string | undefined, schema: z.ZodType<T>): T | undefined =>
  schema.safeParse(jsonIn(ifShort(text) ?? '')).data;
