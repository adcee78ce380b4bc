/**
 * fnmatch(3) as rpcd uses it for rights: no special meaning for `/` or a leading dot, so `*`
 * matches blanks and slashes too.
 */
const compiled = new Map<string, RegExp>();

export const globMatches = (pattern: string, text: string): boolean => {
  let expression = compiled.get(pattern);
  if (!expression) {
    expression = toExpression(pattern);
    compiled.set(pattern, expression);
  }
  return expression.test(text);
};

const toExpression = (pattern: string): RegExp => {
  let source = '';
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern[index] ?? '';
    const bracket = character === '[' ? bracketAt(pattern, index) : undefined;
    if (bracket) {
      source += bracket.source;
      index = bracket.end;
    } else if (character === '*') source += '[^]*';
    else if (character === '?') source += '[^]';
    else source += character.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
  }
  return new RegExp(`^${source}$`);
};

/** A bracket without end is an ordinary `[`. */
const bracketAt = (pattern: string, start: number): { source: string; end: number } | undefined => {
  const negated = pattern[start + 1] === '!' || pattern[start + 1] === '^';
  const first = start + (negated ? 2 : 1);
  const end = pattern.indexOf(']', first + 1);
  if (end < 0) return undefined;
  const members = pattern.slice(first, end).replaceAll(/[\\\]^]/g, '\\$&');
  return { source: `[${negated ? '^' : ''}${members}]`, end };
};
