import type { ZodError } from 'zod';

/** What is wrong first, and where. */
export const firstIssue = (error: ZodError | undefined): string => {
  const [issue] = error?.issues ?? [];
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
};
