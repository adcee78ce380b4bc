/** The coordinators that serve a dashboard. Pure. */
import * as z from 'zod';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';

/** As deploy/ has them. */
export const COORDINATORS = 'app=sdewan-coordinator';
const PORT_NAME = 'dashboard';

export const coordinatorPods = resourceV1(
  '',
  'pods',
  'Pod',
  objectSchema.extend({
    spec: z.looseObject({
      containers: z.array(
        z.looseObject({
          ports: z
            .array(z.looseObject({ name: z.string().optional(), containerPort: z.int() }))
            .optional(),
        }),
      ),
    }),
    status: z
      .looseObject({
        conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).optional(),
      })
      .optional(),
  }),
);
export type CoordinatorPod = z.infer<typeof coordinatorPods.schema>;

export type ServingPort = { pod: string; port: number };

/** A text: why there is none, and what to do. */
export const placeIn = (
  pods: readonly CoordinatorPod[],
  namespace: string,
): ServingPort | string => {
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (live.length === 0)
    return `namespace ${namespace} has no coordinator (pods with label ${COORDINATORS}); -n names another namespace`;
  const serving = live.flatMap((pod) => {
    const port = pod.spec.containers
      .flatMap(({ ports = [] }) => ports)
      .find(({ name }) => name === PORT_NAME)?.containerPort;
    return port === undefined ? [] : [{ pod: pod.metadata.name, port, isReady: isReady(pod) }];
  });
  if (serving.length === 0)
    return `the coordinator in namespace ${namespace} serves no dashboard; the component deploy/dashboard turns it on`;
  const ready = serving.find((one) => one.isReady);
  return ready ?? `no coordinator in namespace ${namespace} is ready`;
};

const isReady = ({ status }: CoordinatorPod): boolean =>
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
