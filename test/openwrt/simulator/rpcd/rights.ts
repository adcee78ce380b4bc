/**
 * What a session may do: (scope, object, function) triples whose last two are glob patterns,
 * granted from ACL files.
 */
import { readdirSync } from 'node:fs';
import { readBytes, toBytes, toText } from '../bytes.ts';
import {
  convertStrings,
  isArray,
  isObject,
  parseJson,
  stringsOf,
  type Json,
  type JsonObject,
} from '../json.ts';
import type { UciSection } from '../uci/package.ts';
import { globMatches } from './glob.ts';

type Grant = { object: string; function: string };

export class Rights {
  readonly #scopes = new Map<string, Grant[]>();

  grant(scope: string, grant: Grant): void {
    const grants = this.#scopes.get(scope) ?? [];
    this.#scopes.set(scope, grants);
    const same = ({ object, function: name }: Grant): boolean =>
      object === grant.object && name === grant.function;
    if (!grants.some(same)) grants.push(grant);
  }

  allows(scope: string, object: string, name: string): boolean {
    return (this.#scopes.get(scope) ?? []).some(
      (grant) => globMatches(grant.object, object) && globMatches(grant.function, name),
    );
  }

  /**
   * As login answers it: sorted by what stands before an object's first wildcard, equal ones in the
   * order of granting.
   */
  dump(): JsonObject {
    const scopes = [...this.#scopes].sort(([a], [b]) => compare(a, b));
    return Object.fromEntries(
      scopes.map(([scope, grants]) => {
        const objects: Record<string, string[]> = {};
        for (const { object, function: name } of [...grants].sort((a, b) =>
          compare(fixedPart(a.object), fixedPart(b.object)),
        ))
          (objects[object] ??= []).push(name);
        return [scope, objects];
      }),
    );
  }
}

/**
 * Grants what the files of `aclDirectory` say to a login section of the rpcd package; without one,
 * the group `unauthenticated`. A file that is no JSON is left out, as rpcd does.
 */
export const grantFromFiles = (
  rights: Rights,
  aclDirectory: string,
  login: UciSection | undefined,
): void => {
  for (const file of readdirSync(aclDirectory)
    .filter((name) => name.endsWith('.json'))
    .sort()) {
    for (const [group, permissions] of entries(readJson(`${aclDirectory}/${file}`)))
      for (const [permission, scopes] of entries(permissions))
        if (isPermission(permission) && hasPermission(login, permission, group))
          grantScopes(rights, { group, permission, scopes });
  }
};

const grantScopes = (
  rights: Rights,
  { group, permission, scopes }: { group: string; permission: string; scopes: Json },
): void => {
  for (const [scope, objects] of entries(scopes)) {
    const named: [string, Json][] = isArray(objects)
      ? stringsOf(objects).map((object) => [object, [permission]])
      : entries(objects);
    for (const [object, functions] of named)
      for (const name of stringsOf(functions)) rights.grant(scope, { object, function: name });
    rights.grant('access-group', { object: group, function: permission });
  }
};

const hasPermission = (
  login: UciSection | undefined,
  permission: 'read' | 'write',
  group: string,
): boolean => {
  if (!login) return group === 'unauthenticated';
  const value = login.options.get(permission);
  const patterns = typeof value === 'string' ? [] : (value ?? []);
  const denied = patterns
    .filter((pattern) => pattern.startsWith('!'))
    .some((pattern) => globMatches(pattern.slice(1).trimStart(), group));
  if (denied) return false;
  if (patterns.some((pattern) => !pattern.startsWith('!') && globMatches(pattern, group)))
    return true;
  return permission === 'read' && hasPermission(login, 'write', group);
};

const isPermission = (text: string): text is 'read' | 'write' =>
  text === 'read' || text === 'write';

/** A file that is no JSON counts as empty. */
const readJson = (path: string): Json =>
  convertStrings(parseJson(toText(readBytes(path))) ?? {}, toBytes);

const entries = (value: Json): [string, Json][] => (isObject(value) ? Object.entries(value) : []);

const fixedPart = (pattern: string): string => /^[^*?[]*/.exec(pattern)?.[0] ?? '';

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
