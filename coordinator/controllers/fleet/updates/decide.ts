/**
 * Which digests the images of a CNFDeployment have: those of before, or, in its window and at rest,
 * what their registries say; and again those of before, where a set of pods has failed with them.
 * Pure.
 */
import { few } from '#shared/util/few.ts';
import {
  MAX_FAILED_DIGESTS,
  MAX_IMAGES,
  type CnfDeployment,
  type CnfDeploymentStatus,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { ROLL_SET_ANNOTATION } from '#shared/names.ts';
import { setOf, type FleetDeployment, type FleetReplicaSet } from '../apps.ts';
import type { Memory } from '../decide.ts';
import { hashOf } from '../deployment.ts';
import { digestsIn, imagesIn, taggedImages, type Digests } from './image.ts';
import type { TagAnswer } from './look-ups.ts';
import { windowAt, windowProblem, type UpdateWindow } from './window.ts';

/** What the status keeps of it. */
export type KeptUpdates = Pick<
  CnfDeploymentStatus,
  'resolvedImages' | 'failedImages' | 'nextUpdateWindow'
>;

/** The condition that tells of updates. */
export const IMAGES_CURRENT = 'ImagesCurrent';

/** What it says. */
export type ToldUpdates = {
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
};

export type UpdateStep = {
  digests: Digests;
  kept: KeptUpdates;
  /** The digests are others than in the status, which has to have them first. */
  isNew: boolean;
  /** Undefined: there are no updates. */
  told: ToldUpdates | undefined;
  /** What begins now, in words. */
  begun: string | undefined;
  /** When the window opens or closes, wall-clock milliseconds. */
  lookAt: number | undefined;
};

export type UpdateFacts = {
  now: number;
  present: FleetDeployment | undefined;
  sets: readonly FleetReplicaSet[];
  /** Sets of all pods that there are. */
  live: ReadonlySet<string>;
  /** What is known of what the tag of an image stands for; asks when nothing is. */
  answerTo: (image: string) => TagAnswer | undefined;
};

/** Those of the status; of one that was lost, what the Deployment has. */
export const knownDigests = (
  { spec, status }: CnfDeployment,
  present: FleetDeployment | undefined,
): Digests => {
  if (!spec.updates) return new Map();
  const images = imagesOf(spec);
  if (status?.deployment === undefined && status?.resolvedImages === undefined)
    return digestsIn(present?.spec.template, images);
  const resolved = status.resolvedImages ?? [];
  return new Map(
    resolved.filter(({ image }) => images.includes(image)).map((one) => [one.image, one.digest]),
  );
};

/** `memory`: of the template with `knownDigests`. */
export const updateStep = (cnf: CnfDeployment, memory: Memory, facts: UpdateFacts): UpdateStep => {
  const known = knownDigests(cnf, facts.present);
  const { updates } = cnf.spec;
  if (!updates) return stepOf(cnf, { digests: known });
  const failedImages = failedBefore(cnf);
  const message = windowProblem(updates, facts.now);
  if (message !== undefined) {
    const told = { status: 'False', reason: 'WindowInvalid', message } as const;
    return stepOf(cnf, { digests: known, failedImages, told });
  }
  const all = { ...facts, known, failedImages, window: windowAt(updates, facts.now) };
  return goneBack(cnf, memory, all) ?? looked(cnf, all);
};

type Known = UpdateFacts & { known: Digests; failedImages: FailedImages; window: UpdateWindow };
type FailedImages = CnfDeploymentStatus['failedImages'];

/** A set has failed that had other digests than the one that serves. Undefined: none has. */
const goneBack = (
  cnf: CnfDeployment,
  { current, failed }: Memory,
  { failedImages, known, live, present, sets, window }: Known,
): UpdateStep | undefined => {
  const proven = sets.find((set) => setOf(set) === current);
  if (!failed || !proven) return undefined;
  const before = digestsIn(proven.spec.template, [...known.keys()]);
  const others = [...known].filter(([image, digest]) => before.get(image) !== digest);
  if (others.length === 0) return undefined;
  const isBack = cnf.spec.onFailure === 'Rollback';
  const had = failedImages?.digests ?? [];
  const failing = others.map(([, digest]) => digest);
  // The Deployment has the earlier template again, and Kubernetes has come to it.
  const isAtRest = [...live].every((set) => set === current) && hasImages(present, proven);
  if (isBack ? !isAtRest : failing.every((digest) => had.includes(digest))) return undefined;
  const message = `${few(others.map(([image, digest]) => `${image} as ${digest}`))}: ${failed.why}`;
  return stepOf(cnf, {
    digests: isBack ? before : known,
    failedImages: {
      template: baseOf(cnf),
      digests: [...new Set([...had, ...failing])].slice(-MAX_FAILED_DIGESTS),
      message: message.slice(0, MAX_MESSAGE),
    },
    window,
    told: { status: 'False', reason: 'UpdateFailed', message },
  });
};

const MAX_MESSAGE = 1_024;

const hasImages = (present: FleetDeployment | undefined, { spec }: FleetReplicaSet): boolean =>
  imagesIn(present?.spec.template).join() === imagesIn(spec.template).join();

const looked = (cnf: CnfDeployment, facts: Known): UpdateStep => {
  const { answerTo, failedImages, known, window } = facts;
  const step = { digests: known, failedImages, window };
  if (!window.isOpen) return stepOf(cnf, { ...step, told: toldBefore(cnf) ?? CLOSED });
  const answers = imagesOf(cnf.spec).map((image) => ({ image, answer: answerTo(image) }));
  const found = answers.flatMap(({ image, answer }) =>
    answer && 'digest' in answer && answer.digest !== known.get(image)
      ? [{ image, digest: answer.digest }]
      : [],
  );
  const fresh = found.filter(({ digest }) => !failedImages?.digests.includes(digest));
  const begins = fresh.length > 0 && answers.every(({ answer }) => answer) && mayBegin(cnf, known);
  if (!begins) {
    const hasBad = fresh.length < found.length;
    const told = toldOf(cnf, { answers, failedImages, hasBad, waits: fresh.length > 0 });
    return stepOf(cnf, { ...step, told });
  }
  const said = few(fresh.map(({ image, digest }) => `${image} is ${digest}`));
  return stepOf(cnf, {
    ...step,
    digests: new Map([...known, ...fresh.map(({ image, digest }) => [image, digest] as const)]),
    told: { status: 'True', reason: 'UpdateBegun', message: said },
    begun: said,
  });
};

const toldOf = (
  cnf: CnfDeployment,
  {
    answers,
    failedImages,
    hasBad,
    waits,
  }: {
    answers: readonly { answer: TagAnswer | undefined }[];
    failedImages: FailedImages;
    hasBad: boolean;
    waits: boolean;
  },
): ToldUpdates => {
  for (const { answer } of answers)
    if (answer && 'reason' in answer) return { ...answer, status: 'False' };
  if (answers.some(({ answer }) => !answer)) return toldBefore(cnf) ?? ASKING;
  if (hasBad)
    return { status: 'False', reason: 'UpdateFailed', message: failedImages?.message ?? '' };
  return waits ? WAITS : currentOf(cnf);
};

/** A roll-out that is under way comes to its end first; so do changes of the template. */
const mayBegin = ({ metadata, spec, status = {} }: CnfDeployment, known: Digests): boolean => {
  const hasFailedByUpdate = [...known.values()].some((digest) =>
    status.failedImages?.digests.includes(digest),
  );
  return (
    !spec.paused &&
    status.observedGeneration === metadata.generation &&
    (status.stage === 'Current' || (status.stage === 'Failed' && hasFailedByUpdate))
  );
};

const CLOSED: ToldUpdates = {
  status: 'Unknown',
  reason: 'WindowClosed',
  message: 'no window has been open yet',
};
const ASKING: ToldUpdates = {
  status: 'Unknown',
  reason: 'Asking',
  message: 'registries are asked what the tags stand for',
};
const WAITS: ToldUpdates = {
  status: 'False',
  reason: 'Waiting',
  message:
    'a tag stands for another digest: it waits for the end of the roll-out, or of spec.paused',
};

const currentOf = ({ spec }: CnfDeployment): ToldUpdates => {
  const count = taggedImages(spec.template).length;
  const message =
    count > MAX_IMAGES
      ? `the first ${MAX_IMAGES} of ${count} images are looked up, and are what their registries have`
      : 'each image is what its registry has for its tag';
  return { status: 'True', reason: 'AsInRegistry', message };
};

/** What is said before anything is known. */
const PASSING: ReadonlySet<string> = new Set(['WindowInvalid', 'WindowClosed', 'Asking']);

/** What the last look came to. */
const toldBefore = ({ status }: CnfDeployment): ToldUpdates | undefined => {
  const before = status?.conditions?.find(({ type }) => type === IMAGES_CURRENT);
  return before && !PASSING.has(before.reason)
    ? { status: before.status, reason: before.reason, message: before.message }
    : undefined;
};

const imagesOf = ({ template }: CnfDeployment['spec']): string[] =>
  taggedImages(template).slice(0, MAX_IMAGES);

/** Another template, or `roll-set`, gives digests that failed another chance. */
const baseOf = ({ metadata, spec }: CnfDeployment): string =>
  hashOf([spec.template, metadata.annotations?.[ROLL_SET_ANNOTATION]]);

const failedBefore = (cnf: CnfDeployment): FailedImages => {
  const failed = cnf.status?.failedImages;
  return failed?.template === baseOf(cnf) ? failed : undefined;
};

const stepOf = (
  { status = {} }: CnfDeployment,
  {
    begun,
    digests,
    failedImages,
    told,
    window,
  }: {
    digests: Digests;
    failedImages?: FailedImages;
    window?: UpdateWindow;
    told?: ToldUpdates;
    begun?: string;
  },
): UpdateStep => {
  const resolvedImages = [...digests].map(([image, digest]) => ({ image, digest }));
  return {
    digests,
    kept: {
      ...(resolvedImages.length > 0 && { resolvedImages }),
      ...(failedImages && { failedImages }),
      ...(window && !window.isOpen && { nextUpdateWindow: new Date(window.until).toISOString() }),
    },
    isNew: hashOf(resolvedImages) !== hashOf(status.resolvedImages ?? []),
    told,
    begun,
    lookAt: window?.until,
  };
};
