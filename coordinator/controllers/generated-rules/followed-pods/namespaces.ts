/**
 * Whose pods a rule may select: those of its own namespace, and of namespaces that name the rule's
 * in an annotation. Otherwise a user with rights in one namespace would see the addresses of all
 * pods of the cluster, and route their packets.
 */
import { identityOf, objectSchema, resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { ACCEPTS_ANNOTATION } from '#shared/names.ts';

export type AcceptingNamespace = KubeObject & { accepted: readonly string[] };

export const acceptingNamespaces = resourceV1(
  '',
  'namespaces',
  'Namespace',
  objectSchema.transform((object): AcceptingNamespace => ({
    ...identityOf(object),
    accepted: acceptedIn(object.metadata.annotations?.[ACCEPTS_ANNOTATION]),
  })),
);

/** Characters. Of a longer annotation nothing counts, as of a pod's. */
const MAX_LENGTH = 16_384;

/** The namespaces in an annotation. */
export const acceptedIn = (text = ''): string[] =>
  text.length > MAX_LENGTH
    ? []
    : text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '');
