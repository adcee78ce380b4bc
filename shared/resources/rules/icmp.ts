/** ICMP types that OpenWRT's firewall knows (with all of ICN's); it skips a rule with another. */
import { icmpTypes } from '../../trace/protocols.ts';
import { digits, NO_ZEROS } from '../fields.ts';
import { text } from '../schema.ts';

/** Whether it is a type of ICMP in this version of IP; a number is one in both. */
export const hasTypeIn = (version: 4 | 6, type: string): boolean =>
  icmpTypes(type)?.[version] !== undefined;

/** An item of a list of ICMP types. */
export const icmpTypeItem = () =>
  text({
    must: `must be the name of an ICMP type such as echo-request, or its number as in 8 or 3/4, ${NO_ZEROS}`,
    maxLength: 64,
    pattern: `[A-Za-z][A-Za-z0-9-]*|${digits(3)}(/${digits(3)})?`,
    holds: (value) => icmpTypes(value) !== undefined,
  });
