/** A Service as exposing sees it: the few facts that decide anything. */
import { resourceV1, type KubeObject } from '#shared/kube/objects.ts';
import { EXPOSE_ANNOTATION, EXPOSE_ZONE_ANNOTATION } from '#shared/names.ts';
import { shortened } from '#shared/util/shortened.ts';
import * as z from 'zod';

export const serviceResource = resourceV1('', 'services', 'Service');

export type ServicePort = { port: number; protocol: string };

export type Service = {
  namespace: string;
  name: string;
  uid: string;
  /** RFC 3339, whole seconds. */
  createdAt: string;
  /** What the annotations say; undefined: nothing. */
  expose: string | undefined;
  zone: string | undefined;
  type: string;
  /** One per address family; `None` for headless Services, empty while none is given. */
  clusterIps: readonly string[];
  ports: readonly ServicePort[];
};

/**
 * Without it, a user with the right to write Services could have the coordinator keep a megabyte of
 * one, and make a rule of each of 30,000 ports.
 */
export const MAX_PORTS = 256;
/** `namespace/purpose`, and names of zones: a longer text names none. */
const MAX_TEXT_LENGTH = 256;

const serviceSchema = z.object({
  spec: z.object({
    type: z.string().default('ClusterIP'),
    clusterIP: z.string().optional(),
    clusterIPs: z.array(z.string()).optional(),
    ports: z.array(z.object({ port: z.number(), protocol: z.string().default('TCP') })).default([]),
  }),
});

/** @throws ZodError when this is not a Service as the API server writes it. */
export const serviceOf = (object: KubeObject): Service => {
  const { spec } = serviceSchema.parse(object);
  const { namespace, name, uid, creationTimestamp, annotations } = object.metadata;
  return {
    namespace,
    name,
    uid,
    createdAt: creationTimestamp,
    expose: shortened(annotations?.[EXPOSE_ANNOTATION], MAX_TEXT_LENGTH),
    zone: shortened(annotations?.[EXPOSE_ZONE_ANNOTATION], MAX_TEXT_LENGTH),
    type: spec.type,
    clusterIps: spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]),
    ports: spec.ports.slice(0, MAX_PORTS + 1),
  };
};
