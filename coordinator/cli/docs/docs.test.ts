import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { EXIT } from '../command.ts';
import { runCli } from '../testing.ts';
import { TOPICS, topicOf } from '../../views/docs-topics.ts';

it.each(TOPICS)('%s is a part of its page, and is shown without a cluster', async (topic) => {
  const page = path.join(import.meta.dirname, `../../../docs/${topic.split('#')[0]}.md`);
  const { code, out } = await runCli(['docs', topic]);
  expect(code).toBe(EXIT.done);
  expect(out).toMatch(/^#+ /);
  expect(readFileSync(page, 'utf8')).toContain(out);
});

it('lists the topics', async () => {
  const { out } = await runCli(['docs']);
  expect(out.trimEnd().split('\n')).toEqual(TOPICS);
});

it('names the nearest topics for an unknown one', async () => {
  const { code, said } = await runCli(['docs', 'securty#rights']);
  expect(code).toBe(EXIT.usage);
  expect(said.join()).toContain(
    'no topic is called securty#rights; the nearest are security#rights',
  );
});

it('takes a link for a topic, or fails', () => {
  expect(topicOf('#an-agent-does-not-report')).toBe('status#an-agent-does-not-report');
  expect(topicOf('security.md#rights')).toBe('security#rights');
  expect(() => topicOf('kinds.md')).toThrow('kinds is no topic');
});
