import { EXIT, type Run } from '../command.ts';
import { nearestNames } from '../nearest.ts';
import sections from './sections.json' with { type: 'json' };
import { TOPICS } from '../../views/docs-topics.ts';
import { UsageError } from '../../views/usage-error.ts';

export const runDocs: Run = ({ args: [asked] }, io) => {
  if (asked === undefined) {
    io.out(TOPICS.map((topic) => `${topic}\n`).join(''));
    return Promise.resolve(EXIT.done);
  }
  const topic = TOPICS.find((one) => one === asked);
  if (!topic)
    throw new UsageError(
      `no topic is called ${asked}; the nearest are ${nearestNames(asked, TOPICS, (one) => one)}`,
    );
  io.out(sections[topic]);
  return Promise.resolve(EXIT.done);
};
