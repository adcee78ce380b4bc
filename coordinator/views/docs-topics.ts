/**
 * The parts of the documentation that answers name. Their texts are in the program, since an
 * installation of the program alone has no `docs/`.
 */

/** Page of `docs/`, and heading where it is not the whole page. */
export const TOPICS = [
  'commit-confirm',
  'drivers#keys-from-a-secret',
  'migration#before',
  'migration#how-a-section-gets-its-name',
  'migration#what-adoption-does',
  'migration#when-icns-controller-still-writes',
  'policies#switch-it-on',
  'policies#what-is-not-enforced',
  'security#rights',
  'services#a-service-of-kubernetes',
  'status#a-rule-is-not-in-sync',
  'status#an-agent-does-not-report',
] as const;
export type Topic = (typeof TOPICS)[number];

/** The command that shows it. */
export const docsOf = (topic: Topic): string => `sdewan docs ${topic}`;

/**
 * @param link as Markdown has it in docs/status.md @throws Error for one that is no topic, so that
 * none is named that is not there
 */
export const topicOf = (link: string): Topic => {
  const name = link.startsWith('#') ? `status${link}` : link.replace('.md', '');
  const topic = TOPICS.find((one) => one === name);
  if (!topic) throw new Error(`${name} is no topic of coordinator/views/docs-topics.ts`);
  return topic;
};
