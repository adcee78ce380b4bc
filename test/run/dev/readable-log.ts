/** What `kubectl logs --prefix` prints, as people read it. */
import * as z from 'zod';

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('is no JSON');
    return z.NEVER;
  }
});
const lineSchema = json.pipe(
  z.looseObject({
    level: z.string(),
    time: z.iso.datetime(),
    msg: z.string(),
    name: z.string().optional(),
  }),
);

export const readableLog = (line: string): string => {
  const [, pod, text] = /^\[pod\/([^/]+)\/[^\]]+\] (.*)$/s.exec(line) ?? [];
  if (pod === undefined || text === undefined) return line;
  const { data } = lineSchema.safeParse(text);
  if (!data) return `${pod} ${text}`;
  const { level, time, msg, name: _name, ...rest } = data;
  const fields = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const moment = time.slice(0, -1).replace('T', ' ');
  return [moment, pod, level.toUpperCase().padEnd('error'.length), msg, ...fields].join(' ');
};
