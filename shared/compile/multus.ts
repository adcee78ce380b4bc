/**
 * What Multus reads and writes in annotations of pods: the attachments that a pod selects
 * (`networks`) and those that it has got (`network-status`). Pure.
 */
import * as z from 'zod';
import { firstIssue } from '../util/first-issue.ts';
import { jsonIn } from '../util/json.ts';
import { parseUntrusted } from '../util/untrusted.ts';

const name = z.string().min(1).max(317);
/**
 * A user with the right to change the pod writes any, and scripts of OpenWRT paste it unquoted, as
 * they do texts of rules.
 */
export const deviceName = z
  .string()
  .max(64)
  .regex(/^\w[\w.:-]*$/, 'is no name of an interface');
const device = z.union([z.literal(''), deviceName]).optional();
const addresses = z.array(z.string().max(64)).max(8);

const selectionSchema = z.looseObject({
  name,
  namespace: z.string().max(63).optional(),
  interface: device,
  ips: addresses.optional(),
  mac: z.string().max(17).optional(),
});
const statusSchema = z.looseObject({
  name,
  // One that cannot be is not known yet.
  interface: device.catch(undefined),
  default: z.boolean().optional(),
  ips: addresses.default([]),
  mac: z.string().max(64).optional(),
});
export type Selection = z.infer<typeof selectionSchema>;
export type StatusEntry = z.infer<typeof statusSchema>;

/** Its interface as `deviceName`. */
const SHORT = /^(?:([^/@\s]+)\s*\/)?\s*([^/@\s]+)(?:\s*@\s*(\w[\w.:-]{0,63}))?$/;

export const isEmpty = (text: string | undefined): text is undefined =>
  text === undefined || text.trim() === '';

/** `text`: in its short form, or JSON. */
export const readSelections = (text: string | undefined): Selection[] | { problem: string } => {
  if (isEmpty(text)) return [];
  // How Multus tells the two forms apart.
  if (!/[[{"]/.test(text)) return shortSelections(text);
  const { data, error } = parseUntrusted(z.array(selectionSchema), jsonIn(text));
  return data ?? { problem: firstIssue(error) };
};

const shortSelections = (text: string): Selection[] | { problem: string } => {
  const selections: Selection[] = [];
  for (const entry of text.split(',')) {
    const [, namespace, named, asked] = SHORT.exec(entry.trim()) ?? [];
    if (named === undefined)
      return { problem: `${entry.trim()} must be [namespace/]name[@interface]` };
    selections.push({
      name: named,
      ...(namespace !== undefined && { namespace }),
      ...(asked !== undefined && { interface: asked }),
    });
  }
  return selections;
};

/** Without the cluster's network. */
export const readStatus = (text: string | undefined): StatusEntry[] | { problem: string } => {
  if (isEmpty(text)) return [];
  const { data, error } = parseUntrusted(z.array(statusSchema), jsonIn(text));
  return data?.filter((entry) => entry.default !== true) ?? { problem: firstIssue(error) };
};
