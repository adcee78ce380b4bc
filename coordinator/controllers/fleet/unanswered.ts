/** Writes without an answer: what is told of them waits for a look that shows it. */
import { isUnanswered } from '#shared/kube/errors.ts';
import type { CnfDeployment } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { keyOf } from './deployment.ts';
import type { Found } from './apps.ts';

/** A write of which no answer came. */
type Unanswered = {
  tookEffect: (cnf: CnfDeployment, found: Found) => boolean;
  /** What is told of it. */
  follow: () => void;
};

export type UnansweredWrites = ReturnType<typeof createUnansweredWrites>;

export const createUnansweredWrites = () => {
  const unanswered = new Map<string, Unanswered>();

  /** `follow` comes after the write, or after a later look that shows what became of it. */
  const andThen = async <R>(
    cnf: CnfDeployment,
    write: () => Promise<R>,
    { tookEffect, follow }: { tookEffect: Unanswered['tookEffect']; follow: (by?: R) => void },
  ): Promise<R> => {
    try {
      const by = await write();
      follow(by);
      return by;
    } catch (error) {
      if (isUnanswered(error)) unanswered.set(keyOf(cnf), { tookEffect, follow });
      throw error;
    }
  };

  const settle = (cnf: CnfDeployment, found: Found): void => {
    const key = keyOf(cnf);
    const lost = unanswered.get(key);
    unanswered.delete(key);
    if (lost?.tookEffect(cnf, found)) lost.follow();
  };

  return {
    andThen,
    settle,
    forget: (key: string) => unanswered.delete(key),
    clear: () => unanswered.clear(),
  };
};
