/** One look at what the images of a CNFDeployment are to be. */
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { setOf, type Found, type PodTemplateText } from '../apps.ts';
import { askedTemplate, keyOf, templateHash } from '../deployment.ts';
import { memoryOf } from '../remembered.ts';
import { knownDigests, updateStep, type UpdateStep } from './decide.ts';
import { withDigests } from './image.ts';
import type { LookUps } from './look-ups.ts';

export type UpdateDeps = {
  clock: Pick<Clock, 'now'>;
  lookUps: LookUps;
  /** To look again at that CNFDeployment. */
  mark: (key: string) => void;
};

/**
 * `template`: that of the spec as it is to be in the Deployment; `lookInMs` Infinity: only when
 * something changes.
 */
export const lookAtUpdates = (
  cnf: CnfDeployment,
  { live, present, sets }: Found,
  { clock, lookUps, mark, signal }: UpdateDeps & { signal: AbortSignal },
): UpdateStep & { template: PodTemplateText; lookInMs: number } => {
  const asked = askedTemplate(cnf, present);
  const hash = templateHash(withDigests(asked, knownDigests(cnf, present)));
  const now = clock.now();
  const { namespace } = cnf.metadata;
  let askInMs = Infinity;
  const step = updateStep(cnf, memoryOf(cnf, hash), {
    now,
    present,
    sets,
    live: new Set(live.map(setOf)),
    answerTo: (image) => {
      const onAnswer = (): void => mark(keyOf(cnf));
      const { answer, againInMs } = lookUps.get(image, { namespace, onAnswer, signal });
      askInMs = Math.min(askInMs, againInMs);
      return answer;
    },
  });
  const { lookAt = Infinity } = step;
  return {
    ...step,
    template: withDigests(asked, step.digests),
    lookInMs: Math.min(lookAt - now, askInMs),
  };
};
