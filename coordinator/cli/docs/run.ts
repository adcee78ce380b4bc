import { EXIT, UsageError, type Run } from '../command.ts';
import { nearestOf } from '../nearest.ts';
import sections from './sections.json' with { type: 'json' };
import { TOPICS } from './topics.ts';

const NEAREST = 3;

export const runDocs: Run = ({ args: [asked] }, io) => {
  if (asked === undefined) {
    io.out(TOPICS.map((topic) => `${topic}\n`).join(''));
    return Promise.resolve(EXIT.done);
  }
  const topic = TOPICS.find((one) => one === asked);
  if (!topic) {
    const names = nearestOf(asked, TOPICS, (one) => one).slice(0, NEAREST);
    throw new UsageError(`no topic is called ${asked}; the nearest are ${names.join(', ')}`);
  }
  io.out(sections[topic]);
  return Promise.resolve(EXIT.done);
};
