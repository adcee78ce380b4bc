/**
 * AdmissionReview (admission.k8s.io/v1) as the API server sends it and reads it back. Only what our
 * checks look at is parsed; everything else of the objects passes through untouched.
 */
import * as z from 'zod';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { networkPortPoolResource } from '#shared/resources/other-kinds/network-port-pool.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { plainText } from '#shared/util/plain-text.ts';

const stringMap = z.record(z.string(), z.string());

const ownerReferenceSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
});

const metadataSchema = z.looseObject({
  /** Empty on a create with `generateName`. */
  name: z.string().default(''),
  generateName: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().optional(),
  labels: stringMap.optional(),
  annotations: stringMap.optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
});

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: metadataSchema,
});
export type ReviewedObject = z.infer<typeof objectSchema>;

const groupVersionResource = z.object({
  group: z.string(),
  version: z.string(),
  resource: z.string(),
});

export const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;
export type Operation = (typeof operations)[number];

/** A DNS label, as the API server has checked. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const MAX_NAME_LENGTH = 253;

const OF_CLUSTER = [managedNetworkResource, networkPortPoolResource, networkPortResource];
const isOfCluster = ({ group, resource }: z.infer<typeof groupVersionResource>): boolean =>
  OF_CLUSTER.some((one) => one.group === group && one.plural === resource);

const requestSchema = z
  .object({
    uid: z.string().min(1),
    resource: groupVersionResource,
    /** Mutating webhooks are asked before the API server looks. One that is too long is refused. */
    name: z.string().max(MAX_NAME_LENGTH).default(''),
    /** Empty for what is of the whole cluster. */
    namespace: z.union([z.literal(''), z.string().regex(NAMESPACE)]).default(''),
    operation: z.enum(operations),
    userInfo: z.object({
      username: z.string().default(''),
      groups: z.array(z.string()).nullish(),
    }),
    object: objectSchema.nullish(),
    oldObject: objectSchema.nullish(),
    dryRun: z.boolean().nullish(),
  })
  // What has a namespace is never looked at without one.
  .refine(({ namespace, resource }) => namespace !== '' || isOfCluster(resource));
export type AdmissionRequest = z.infer<typeof requestSchema>;

export const admissionReviewSchema = z.object({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: requestSchema,
});

export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/** What a webhook of ours comes to. `patch` only of mutating ones, and only when allowed. */
export type ReviewVerdict =
  | { allowed: true; warnings: readonly string[]; patch?: readonly JsonPatchOperation[] }
  | { allowed: false; warnings: readonly string[]; code: number; reason: string; message: string };

export const allowed: ReviewVerdict = { allowed: true, warnings: [] };

export type AdmissionAnswer = {
  apiVersion: 'admission.k8s.io/v1';
  kind: 'AdmissionReview';
  response: Record<string, unknown> & { uid: string; allowed: boolean };
};

/** The API server cuts warnings at 4,096 bytes in all and drops any over 256 characters. */
const MAX_WARNING_LENGTH = 256;

export const answerOf = (uid: string, verdict: ReviewVerdict): AdmissionAnswer => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: {
    uid,
    allowed: verdict.allowed,
    ...(verdict.warnings.length > 0 && { warnings: verdict.warnings.map(shorten).map(plainText) }),
    ...(verdict.allowed
      ? patchOf(verdict.patch)
      : {
          status: {
            code: verdict.code,
            reason: verdict.reason,
            // kubectl prints it as it is, and others have named what it names, such as networks.
            message: plainText(verdict.message),
          },
        }),
  },
});

const shorten = (warning: string): string =>
  warning.length <= MAX_WARNING_LENGTH ? warning : `${warning.slice(0, MAX_WARNING_LENGTH - 1)}…`;

const patchOf = (patch: readonly JsonPatchOperation[] | undefined): Record<string, unknown> =>
  patch === undefined || patch.length === 0
    ? {}
    : {
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
      };
