/** What `sdewan rollout` asks of a CNFDeployment, as a patch that only hits that version. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Patch } from '#shared/kube/client.ts';
import { PROMOTE_ANNOTATION, RENEWED_ANNOTATION, ROLL_SET_ANNOTATION } from '#shared/names.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import {
  RESTARTED_ANNOTATION,
  revisionNumberOf,
  setOf,
  type FleetReplicaSet,
  type PodTemplateText,
} from '../../controllers/fleet/apps.ts';
import { templateOfSet } from '../../controllers/fleet/deployment.ts';
import { promotionOf } from '../../controllers/fleet/promotion.ts';

/** `said`: what has been done, or why nothing was. */
export type Change = { patch?: Patch; said: string };

export const paused = (cnf: CnfDeployment, is: boolean): Change => {
  const words = is ? 'paused' : 'resumed';
  if (cnf.spec.paused === is) return { said: `is ${is ? 'paused' : 'not paused'} already` };
  return { patch: merge(cnf, { spec: { paused: is } }), said: words };
};

export const restarted = (cnf: CnfDeployment, now: number): Change => ({
  patch: merge(cnf, {
    metadata: { annotations: { [ROLL_SET_ANNOTATION]: new Date(now).toISOString() } },
  }),
  said: 'a new set of pods is asked for',
});

/** The staged set is promoted as it was staged now: one that is staged again later is not. */
export const promoted = (cnf: CnfDeployment): Change => {
  const { stage, failedRevision, stagedRevision } = cnf.status ?? {};
  const asked = promotionOf(cnf.status);
  if (failedRevision !== undefined)
    return { said: 'the last template has failed: change it, or restart' };
  if (stagedRevision === undefined || asked === undefined) return { said: 'nothing is staged' };
  if (stage === 'HandedOver' || stage === 'Soaking')
    return { said: 'the staged set has the traffic already' };
  if (cnf.spec.strategy !== 'RollingUpdate')
    return { said: `strategy ${cnf.spec.strategy} holds nothing back` };
  if (cnf.spec.paused) return { said: 'is paused: resume it first' };
  return {
    patch: merge(cnf, { metadata: { annotations: { [PROMOTE_ANNOTATION]: asked } } }),
    said: 'the staged set is to get the traffic as soon as each of its pods runs',
  };
};

/**
 * `to`: the number of a revision. Default: of a set that is staged or has failed back to the one
 * that serves, else to the one before it.
 */
export const undone = (
  cnf: CnfDeployment,
  sets: readonly FleetReplicaSet[],
  to: number | undefined,
): Change => {
  const target =
    to === undefined ? before(cnf, sets) : sets.find((set) => revisionNumberOf(set) === to);
  if (!target)
    return {
      said: to === undefined ? 'there is no revision before' : `there is no revision ${to}`,
    };
  const template = templateOfSet(target);
  const { [ROLL_SET_ANNOTATION]: rollSet, ...rest } = template.metadata?.annotations ?? {};
  const { [RESTARTED_ANNOTATION]: _restarted, ...others } = rest;
  const { [RENEWED_ANNOTATION]: _renewed, ...annotations } = others;
  const wanted = withAnnotations(template, annotations);
  const named = `revision ${revisionNumberOf(target)} (${setOf(target)})`;
  const present = cnf.metadata.annotations?.[ROLL_SET_ANNOTATION];
  if (isDeepStrictEqual(wanted, cnf.spec.template) && rollSet === present)
    return { said: `the template is that of ${named} already` };
  return {
    patch: {
      type: 'json',
      body: [
        { op: 'test', path: '/metadata/uid', value: cnf.metadata.uid },
        { op: 'test', path: '/metadata/resourceVersion', value: cnf.metadata.resourceVersion },
        { op: 'replace', path: '/spec/template', value: wanted },
        {
          op: 'add',
          path: '/metadata/annotations',
          value: marked(cnf.metadata.annotations, rollSet),
        },
      ],
    },
    said: `the template is that of ${named} again`,
  };
};

const before = (
  { status = {} }: CnfDeployment,
  sets: readonly FleetReplicaSet[],
): FleetReplicaSet | undefined => {
  const { currentRevision, failedRevision, stagedRevision } = status;
  if ((stagedRevision ?? failedRevision) !== undefined)
    return sets.find((set) => setOf(set) === currentRevision);
  return sets
    .filter((set) => setOf(set) !== currentRevision)
    .toSorted((one, other) => revisionNumberOf(other) - revisionNumberOf(one))[0];
};

const withAnnotations = (
  { metadata, ...rest }: PodTemplateText,
  annotations: Record<string, string>,
): PodTemplateText => {
  const { annotations: _marks, ...others } = metadata ?? {};
  const isEmpty = Object.keys(annotations).length === 0;
  return { ...rest, metadata: isEmpty ? others : { ...others, annotations } };
};

const marked = (
  annotations: Readonly<Record<string, string>> = {},
  rollSet: string | undefined,
): Record<string, string> => {
  const { [ROLL_SET_ANNOTATION]: _present, ...others } = annotations;
  return { ...others, ...(rollSet !== undefined && { [ROLL_SET_ANNOTATION]: rollSet }) };
};

const merge = (
  { metadata: { uid } }: CnfDeployment,
  change: { metadata?: object; spec?: object },
): Patch => ({
  type: 'merge',
  body: { ...change, metadata: { ...change.metadata, uid } },
});
