import ts from "typescript";

const { factory: make, SyntaxKind: Kind } = ts;

/**
 * One small change of a source that some test must notice. Its texts have each run of white space
 * as one blank.
 */
export interface Mutant {
  /** Path from the repository's root. */
  readonly file: string;
  readonly line: number;
  /** Function or constant of the file's top level that it is in. */
  readonly within: string;
  readonly from: string;
  /** Empty where `from`, an element or a property, is left out. */
  readonly to: string;
}

/** Calls that are left out: what they are called on goes on as it is. */
const LEFT_OUT = [
  "filter",
  "flat",
  "reverse",
  "sort",
  "toLowerCase",
  "toSorted",
  "toUpperCase",
  "trim",
];

/** Calls that become another, and operators. */
const INSTEAD: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  startsWith: "endsWith",
  endsWith: "startsWith",
};

const OPERATORS = new Map<ts.BinaryOperator, ts.BinaryOperator>([
  [Kind.LessThanToken, Kind.LessThanEqualsToken],
  [Kind.LessThanEqualsToken, Kind.LessThanToken],
  [Kind.GreaterThanToken, Kind.GreaterThanEqualsToken],
  [Kind.GreaterThanEqualsToken, Kind.GreaterThanToken],
  [Kind.EqualsEqualsEqualsToken, Kind.ExclamationEqualsEqualsToken],
  [Kind.ExclamationEqualsEqualsToken, Kind.EqualsEqualsEqualsToken],
  [Kind.PlusToken, Kind.MinusToken],
  [Kind.MinusToken, Kind.PlusToken],
  [Kind.AsteriskToken, Kind.SlashToken],
  [Kind.SlashToken, Kind.AsteriskToken],
]);

const LOGICAL: readonly ts.SyntaxKind[] = [
  Kind.AmpersandAmpersandToken,
  Kind.BarBarToken,
  Kind.QuestionQuestionToken,
];

/** Makers of findings: each is left out, and made of the other kind. */
const OTHER_KIND: Readonly<Record<string, string>> = { violation: "advice", advice: "violation" };

/**
 * The source with its mutants inside, each behind a switch `__mutant(number)`, and the list of all;
 * the first has the number `first`. `isInside` leaves numbers out of the source.
 */
export function withMutants(
  file: string,
  source: string,
  first: number,
  isInside: (mutant: number) => boolean = () => true,
): { code: string; mutants: Mutant[] } {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, true);
  const printer = ts.createPrinter({ removeComments: true });
  const text = (node: ts.Node) =>
    printer.printNode(ts.EmitHint.Unspecified, node, tree).replace(/\s+/g, " ");
  const mutants: Mutant[] = [];
  const add = (node: ts.Expression, changed: ts.Expression): number => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    const gone = leftOut(node, changed);
    const [from, to] = gone === undefined ? [text(node), text(changed)] : [text(gone), ""];
    mutants.push({ file, line, within: topLevelName(node), from, to });
    return first + mutants.length - 1;
  };
  const transformer = (context: ts.TransformationContext) => (root: ts.SourceFile) => {
    const visit = (node: ts.Node): ts.Node => {
      if (isLeftAlone(node)) return node;
      const inside = ts.visitEachChild(node, visit, context);
      if (!ts.isExpression(node) || !ts.isExpression(inside) || continuesChain(node)) return inside;
      return changesOf(node).reduce<ts.Expression>((rest, change) => {
        const number = add(node, change);
        return isInside(number) ? choice(number, change, rest) : rest;
      }, inside);
    };
    return ts.visitEachChild(root, visit, context);
  };
  const { transformed } = ts.transform(tree, [transformer]);
  // Types are read with their comments.
  const code = transformed.map((each) => ts.createPrinter().printFile(each)).join("");
  return { code, mutants };
}

function choice(number: number, changed: ts.Expression, rest: ts.Expression): ts.Expression {
  const on = make.createCallExpression(make.createIdentifier("__mutant"), undefined, [
    make.createNumericLiteral(number),
  ]);
  return make.createParenthesizedExpression(
    make.createConditionalExpression(
      on,
      undefined,
      make.createParenthesizedExpression(changed),
      undefined,
      rest,
    ),
  );
}

/** Types, names of modules, and what no verdict shows. */
function isLeftAlone(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node))
    return true;
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true;
  if (ts.isCallExpression(node) && node.expression.kind === Kind.ImportKeyword) return true;
  return ts.isPropertyAssignment(node) && node.name.getText() === "description";
}

/**
 * In `a?.b.c` the part `a?.b` can't stand for itself: what follows it is left out together with it.
 */
function continuesChain(node: ts.Expression): boolean {
  const { parent } = node;
  const goesOn =
    ts.isOptionalChain(node) && ts.isOptionalChain(parent) && parent.expression === node;
  return goesOn && !("questionDotToken" in parent && parent.questionDotToken !== undefined);
}

function topLevelName(node: ts.Node): string {
  let at = node;
  while (!ts.isSourceFile(at.parent)) at = at.parent;
  if (ts.isVariableStatement(at))
    return at.declarationList.declarations.map(({ name }) => name.getText()).join();
  if (ts.isFunctionDeclaration(at) || ts.isClassDeclaration(at)) return at.name?.text ?? "";
  return "";
}

const isCondition = (node: ts.Expression): boolean => {
  const { parent } = node;
  return (
    (ts.isIfStatement(parent) && parent.expression === node) ||
    (ts.isConditionalExpression(parent) && parent.condition === node)
  );
};

/** An operand of a condition is mutated by leaving the other operand out. */
const isOperand = ({ parent }: ts.Expression): boolean =>
  ts.isPrefixUnaryExpression(parent) ||
  (ts.isBinaryExpression(parent) && LOGICAL.includes(parent.operatorToken.kind));

function changesOf(node: ts.Expression): ts.Expression[] {
  const forced = isCondition(node) ? [make.createTrue(), make.createFalse()] : [];
  return [...forced, ...ownChanges(node)];
}

function ownChanges(node: ts.Expression): ts.Expression[] {
  if (ts.isBinaryExpression(node)) return ofOperator(node);
  if (ts.isCallExpression(node)) return ofCall(node);
  if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken)
    return isCondition(node) ? [] : [node.operand];
  if (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateExpression(node)
  )
    return ofText(node);
  if (ts.isNumericLiteral(node)) return [make.createNumericLiteral(Number(node.text) + 1)];
  if (node.kind === Kind.TrueKeyword) return [make.createFalse()];
  if (node.kind === Kind.FalseKeyword) return [make.createTrue()];
  if (ts.isRegularExpressionLiteral(node))
    return ofPattern(node.text).map(make.createRegularExpressionLiteral);
  if (ts.isArrayLiteralExpression(node)) return ofList(node.elements);
  if (ts.isObjectLiteralExpression(node)) return ofObject(node.properties);
  return [];
}

/** Without any element, and without each. */
function ofList(elements: readonly ts.Expression[]): ts.Expression[] {
  const fewer =
    elements.length > 1 ? elements.map((left) => elements.filter((each) => each !== left)) : [];
  return (elements.length > 0 ? [[], ...fewer] : []).map((each) =>
    make.createArrayLiteralExpression(each),
  );
}

/** The one element or property that is left out: its text alone is the mutant's. */
function leftOut(whole: ts.Expression, rest: ts.Expression): ts.Node | undefined {
  const gone = partsOf(whole).filter((each) => !partsOf(rest).includes(each));
  return gone.length === 1 ? gone[0] : undefined;
}

function partsOf(node: ts.Expression): readonly ts.Node[] {
  if (ts.isObjectLiteralExpression(node)) return node.properties;
  return ts.isArrayLiteralExpression(node) ? node.elements : [];
}

/** Without each property; methods stay. */
function ofObject(properties: readonly ts.ObjectLiteralElementLike[]): ts.Expression[] {
  return properties
    .filter((each) => !ts.isMethodDeclaration(each) && !isLeftAlone(each))
    .map((left) => make.createObjectLiteralExpression(properties.filter((each) => each !== left)));
}

function ofOperator(node: ts.BinaryExpression): ts.Expression[] {
  const { left, operatorToken, right } = node;
  if (LOGICAL.includes(operatorToken.kind)) return [left, right];
  const other = OPERATORS.get(operatorToken.kind as ts.BinaryOperator);
  const isEquality = operatorToken.getText().length === 3;
  if (other === undefined || (isEquality && (isCondition(node) || isOperand(node)))) return [];
  return [make.createBinaryExpression(left, other, right)];
}

function ofCall(node: ts.CallExpression): ts.Expression[] {
  const called = node.expression;
  // What is called for its effect alone has none.
  if (ts.isExpressionStatement(node.parent)) return [make.createIdentifier("undefined")];
  if (ts.isIdentifier(called) && called.text in OTHER_KIND) {
    const kind = make.createPropertyAssignment(
      "kind",
      make.createStringLiteral(OTHER_KIND[called.text] ?? ""),
    );
    const otherKind = make.createObjectLiteralExpression([make.createSpreadAssignment(node), kind]);
    return [make.createIdentifier("undefined"), otherKind];
  }
  if (!ts.isPropertyAccessExpression(called)) return [];
  const name = called.name.text;
  if (LEFT_OUT.includes(name)) return [called.expression];
  const other = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
  if (other === undefined) return [];
  const instead = called.questionDotToken
    ? make.createPropertyAccessChain(called.expression, called.questionDotToken, other)
    : make.createPropertyAccessExpression(called.expression, other);
  return [make.createCallExpression(instead, undefined, node.arguments)];
}

/** A text is made empty; of one that is compared with `typeof` the comparison is mutated. */
function ofText(
  node: ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression,
): ts.Expression[] {
  const { parent } = node;
  const named =
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    ts.isTaggedTemplateExpression(parent);
  const compared = ts.isBinaryExpression(parent) && ts.isTypeOfExpression(parent.left);
  const empty = !ts.isTemplateExpression(node) && node.text === "";
  return named || compared || empty ? [] : [make.createStringLiteral("")];
}

/** Never matching, without an anchor, and minding upper case. */
function ofPattern(pattern: string): string[] {
  const end = pattern.lastIndexOf("/");
  const [body, flags] = [pattern.slice(1, end), pattern.slice(end + 1)];
  return [
    "/(?!)/",
    ...(body.startsWith("^") ? [`/${body.slice(1)}/${flags}`] : []),
    ...(/[^\\]\$$/.test(body) ? [`/${body.slice(0, -1)}/${flags}`] : []),
    ...(flags.includes("i") ? [`/${body}/${flags.replace("i", "")}`] : []),
  ];
}
