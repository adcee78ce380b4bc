/** Which children a CR should have, and what keeps it from having them. Pure. */
import type { OwnerReference, RuleObject } from '#shared/kube/objects.ts';
import type { Desired } from '#shared/kube/owned.ts';
import { BUCKET_TYPE_LABEL, ORDER_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import type { Generation, Host, IcnStatus } from '#shared/resources/generation.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { generatedRule, type RuleChange } from '../write.ts';
import type { Entry } from './address-book.ts';
import { planChildren, type Wanted } from './plan.ts';
import type { GeneratorProblem } from './status.ts';

export type ChildrenFacts = {
  parent: RuleObject;
  generates: Generation<unknown>;
  spec: unknown;
  /** All of the CR. */
  hosts: readonly (Host & Entry)[];
  present: readonly RuleObject[];
};

export type WantedChildren = {
  changes: readonly RuleChange[];
  problem: GeneratorProblem | undefined;
  /** How many it should have. */
  total: number;
  icn: IcnStatus;
  /** Milliseconds until an answer of the DNS ends. */
  againInMs: number;
};

export const wantedChildren = (facts: ChildrenFacts): WantedChildren => {
  const { parent, generates, spec, hosts, present } = facts;
  const againInMs = Math.min(Infinity, ...hosts.map((host) => host.againInMs));
  const [unresolved] = hosts.flatMap(({ path, problem, addresses }) =>
    problem === undefined ? [] : [passing(`${path}: ${problem}${addresses ? KEPT : ''}`)],
  );
  const none = { changes: [], problem: unresolved, total: present.length, icn: {}, againInMs };
  if (hosts.some(({ addresses }) => addresses === undefined)) return none;

  const known = new Map(hosts.map(({ name, addresses = [] }) => [name, addresses]));
  const addressesOf = (host: string) => known.get(host) ?? [];
  const icn = generates.icnStatus(spec, addressesOf);
  const children = generates.children(spec, addressesOf);
  if ('message' in children) {
    const problem = unresolved ?? passing(`${children.path}: ${children.message}`);
    return { ...none, icn, problem };
  }
  const silent = hosts.flatMap(({ path, name, unknown }) =>
    unknown === undefined ? [] : [{ family: unknown, path, name }],
  );
  const families = new Set(silent.map(({ family }) => family));
  const { keep, remove, waiting } = planChildren(parent.metadata.name, children, present, families);
  const [silence] = waiting.length > 0 ? silent : [];
  return {
    changes: [
      ...remove.map((child) => ({ ...ofKind(child.kind), wanted: undefined, present: child })),
      ...keep.map((one) => ({
        ...ofKind(one.wanted.kind),
        ...one,
        wanted: childOf(parent, one.wanted),
      })),
    ],
    problem: unresolved ?? (silence && passing(notAnswered(silence))),
    total: children.length + waiting.length,
    icn,
    againInMs,
  };
};

export const stalled = (reason: GeneratorProblem['reason'], message: string): GeneratorProblem => ({
  reason,
  message,
  stalled: true,
});

const passing = (message: string): GeneratorProblem => ({
  reason: 'NotResolved',
  message,
  stalled: false,
});

const KEPT = '; its last addresses stay in force';

const notAnswered = (host: { path: string; name: string; family: number }): string =>
  `${host.path}: the DNS does not answer for IPv${host.family} addresses of ${host.name}; the rules of its last addresses stay in force`;

const ofKind = (kind: string) => {
  const resource = kindOf(kind);
  if (!resource) throw new Error(`no kind ${kind}`);
  return { resource };
};

const childOf = ({ apiVersion, kind, metadata }: RuleObject, { name, spec }: Wanted): Desired => {
  const { namespace, labels = {}, annotations } = metadata;
  const owner: OwnerReference = {
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return generatedRule({
    namespace,
    name,
    purpose: labels[PURPOSE_LABEL],
    bucketType: labels[BUCKET_TYPE_LABEL],
    annotations: { [ORDER_ANNOTATION]: annotations?.[ORDER_ANNOTATION] },
    ownerReferences: [owner],
    spec,
  });
};
