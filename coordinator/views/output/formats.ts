/** Alone in its file, since help loads no more than this. */
export const FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
