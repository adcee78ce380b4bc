/**
 * A rule of the linter: what stands under a name that is not of our choice is read with `own`
 * (`shared/util/own.ts`), and asked for with `Object.hasOwn`. `x in table` and `table[x]` also find
 * what every object of JavaScript has: `toString`, `constructor`. The linter gives no types to such
 * rules, so this one goes by words: tables are what a file declares as a record of strings, and the
 * fields of Kubernetes and UCI that are one; names in capitals are constants of our own. It is
 * JavaScript since the linter runs with any Node.
 */

const FIELDS = new Set(['labels', 'annotations', 'matchLabels', 'data', 'options']);
const WRAPPERS = new Set(['Readonly', 'Partial']);
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

const isConstant = ({ type, name }) =>
  type === 'Literal' || (type === 'Identifier' && CONSTANT.test(name));

const isRecordOfStrings = (type) => {
  if (type?.type === 'TSUnionType') return type.types.some(isRecordOfStrings);
  if (type?.type === 'TSTypeLiteral')
    return type.members.some((each) => each.type === 'TSIndexSignature');
  if (type?.type !== 'TSTypeReference') return false;
  const [first] = type.typeArguments?.params ?? [];
  if (WRAPPERS.has(type.typeName.name)) return isRecordOfStrings(first);
  return type.typeName.name === 'Record' && first?.type === 'TSStringKeyword';
};

const declarationOf = (context, node) => {
  for (let scope = context.sourceCode.getScope(node); scope; scope = scope.upper) {
    const variable = scope.set.get(node.name);
    if (variable) return variable.identifiers[0];
  }
  return undefined;
};

const isTable = (context, node) => {
  if (node.type === 'Identifier')
    return isRecordOfStrings(declarationOf(context, node)?.typeAnnotation?.typeAnnotation);
  if (node.type === 'MemberExpression') return !node.computed && FIELDS.has(node.property.name);
  return node.type === 'ChainExpression' && isTable(context, node.expression);
};

const isWritten = ({ parent, ...node }) =>
  parent.type === 'AssignmentExpression' && parent.left.start === node.start;

/**
 * `Object.hasOwn(table, name)` in a condition around it is what `own` does, and has its place
 * there.
 */
const rule = {
  create: (context) => ({
    BinaryExpression: (node) => {
      if (
        node.operator === 'in' &&
        !isConstant(node.left) &&
        node.left.type !== 'PrivateIdentifier'
      )
        context.report({
          node,
          message: '`in` also finds what every object has: use Object.hasOwn.',
        });
    },
    MemberExpression: (node) => {
      if (
        node.computed &&
        !isConstant(node.property) &&
        !isWritten(node) &&
        isTable(context, node.object)
      )
        context.report({
          node,
          message: 'This also finds what every object has: use own() of shared/util/own.ts.',
        });
    },
  }),
};

export default { meta: { name: 'sdewan' }, rules: { 'own-properties': rule } };
