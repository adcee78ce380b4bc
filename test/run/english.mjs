/**
 * Rules of the linter on comments, names of tests, and texts of the product. The folders that are
 * held to them are listed in `.oxlintrc.json`; `english.test.ts` holds the documentation and the
 * comments of manifests to the same words.
 */

const COLUMNS = 100;
/** The component that acts is named instead; "anyone who can" is as clear. */
const VAGUE = /(?<!\banyone\s+)\bwho\s+(?:may|can|has|is)\b|\b(?:somebody|nobody|whoever)\b/gi;
/** Prepositions; conjunctions; articles and pronouns. */
const NO_VERBS = [
  'about|above|after|against|among|at|before|behind|beside|between|beyond|by|during|for|from|in|inside|into|of|on|out|outside|over|since|through|to|toward|under|until|up|upon|with|within|without',
  'and|although|as|because|but|if|nor|or|so|than|though|unless|when|where|whether|while|yet',
  'a|all|an|another|any|anything|both|each|either|every|everything|he|his|it|its|neither|no|none|nothing|one|others|our|ours|she|some|something|such|that|the|their|theirs|them|these|they|this|those|we|what|whatever|which|who|whose|you|your',
];
const NO_VERB = new RegExp(`^(?:${NO_VERBS.join('|')})(?![\\w'’-])`, 'i');

/** @returns the words that a page, a comment or a name of a test does without */
export const vagueWordsIn = (text) => text.match(VAGUE) ?? [];

const check = (context, comment) => {
  const report = (message) => context.report({ node: comment, message });
  for (const word of vagueWordsIn(comment.value.replaceAll(/\s+\*?\s*/g, ' ')))
    report(`Name what acts, in place of "${word}".`);
  if (/^[\s*]*Of\b/.test(comment.value)) report('A comment does not begin with "Of".');
  const { start, end } = comment.loc;
  const long = context.sourceCode.lines
    .slice(start.line - 1, end.line)
    .some((line) => line.length > COLUMNS);
  if (long) report(`A line of a comment has at most ${COLUMNS} columns.`);
};

/** `it`, `it.each(rows)` and `it.skipIf(condition)`, and the same of `describe`. */
const nameOf = (callee) => {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return nameOf(callee.object);
  return callee.type === 'CallExpression' ? nameOf(callee.callee) : undefined;
};

const textOf = (node) => {
  if (node?.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.raw).join('…');
  return typeof node?.value === 'string' ? node.value : undefined;
};

const comments = {
  create: (context) => ({
    Program: () => context.sourceCode.getAllComments().forEach((each) => check(context, each)),
  }),
};

const tests = {
  create: (context) => ({
    CallExpression: (node) => {
      const called = nameOf(node.callee);
      const name = textOf(node.arguments[0]);
      if (name === undefined || !['describe', 'it', 'test'].includes(called)) return;
      const report = (message) => context.report({ node: node.arguments[0], message });
      for (const word of vagueWordsIn(name)) report(`Name what acts, in place of "${word}".`);
      const first = called === 'describe' ? undefined : NO_VERB.exec(name)?.[0];
      if (first) report(`A test begins with a verb, not with "${first}".`);
    },
  }),
};

const texts = {
  create: (context) => {
    const look = (node) => {
      for (const word of vagueWordsIn(textOf(node) ?? ''))
        context.report({ node, message: `Name what acts, in place of "${word}".` });
    };
    return { Literal: look, TemplateLiteral: look };
  },
};

export default { meta: { name: 'english' }, rules: { comments, tests, texts } };
