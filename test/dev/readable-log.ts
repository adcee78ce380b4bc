/** What `kubectl logs --prefix` prints, as people read it. */
import { lineOf } from '../../coordinator/cli/logs/line.ts';

export const readableLog = (line: string): string => {
  const [, pod, text] = /^\[pod\/([^/]+)\/[^\]]+\] (.*)$/s.exec(line) ?? [];
  return pod === undefined || text === undefined ? line : lineOf(text, pod).text;
};
