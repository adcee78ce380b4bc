/** The rig's ACL files, told from what its logins were answered and from the record's own notes. */
import { z } from 'zod';
import type { Recording } from '../recordings/read.ts';

const rightsSchema = z.record(z.string(), z.record(z.string(), z.array(z.string())));
const loginSchema = z.object({
  result: z.tuple([z.literal(0), z.object({ acls: rightsSchema })]),
});
type Rights = z.infer<typeof rightsSchema>;

/** What the login of that name was answered. */
const rightsOf = (recording: Recording, name: string): Rights => {
  const exchange = recording.exchanges.find((one) => one.name === name);
  return loginSchema.parse(JSON.parse(exchange?.response?.body ?? '')).result[1].acls;
};

/** A group that grants nothing is seen by its members all the same. */
const emptyGroup = (): object => ({ read: { ubus: {} }, write: { ubus: {} } });

const named = (group: string, content: object): Record<string, string> => ({
  [`${group}.json`]: JSON.stringify({ [group]: content }),
});

/**
 * A set of files that gives the user that is in all groups exactly `rights`: one group has them
 * all, the others nothing. `first` sorts before all others, so that the rights come in the recorded
 * order.
 */
const groupsOf = (rights: Rights, first: string): Record<string, string> => {
  const { 'access-group': groups = {}, ...scopes } = rights;
  const files: Record<string, string> = {};
  for (const [group, permissions] of Object.entries(groups)) {
    const content = group === first ? { read: scopes } : {};
    const rest = Object.fromEntries(
      permissions.map((permission) => [permission, { ubus: {} }] as const),
    );
    files[`${group === first ? '0' : group}.json`] = JSON.stringify({
      [group]: { ...rest, ...content },
    });
  }
  return files;
};

const UNAUTHENTICATED = named('unauthenticated', {
  read: { ubus: { session: ['access', 'login'] } },
});

export const aclFilesOfUbus = (recording: Recording): Record<string, string> => {
  const { 'access-group': _, ...viewer } = rightsOf(recording, 'login ok viewer (read-only role)');
  return {
    ...groupsOf(rightsOf(recording, 'login ok'), 'superuser'),
    ...UNAUTHENTICATED,
    ...named('viewer', { read: viewer }),
  };
};

export const aclFilesOfApply = (recording: Recording): Record<string, string> => {
  const { 'access-group': _, ...stock } = rightsOf(recording, 'stock LuCI groups: login');
  return {
    ...groupsOf(rightsOf(recording, 'another session: login root'), 'superuser'),
    ...UNAUTHENTICATED,
    ...named('luci-app-firewall', emptyGroup()),
    ...named('luci-base', { read: stock, write: { ubus: {} } }),
    'sdewan-agent.json': JSON.stringify(recording.meta['acl']),
    'sdewan-lowly.json': JSON.stringify(recording.meta['acl_lowly']),
  };
};
