import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** Text that the program can print, where its source begins. */
export interface Message {
  /** From the project's root. */
  readonly file: string;
  readonly line: number;
  /** What is filled in when it is printed stands as `…`. */
  readonly text: string;
}

/** The rooms whose code prints. */
const ROOMS = ["cli", "components", "packages", "policies"];

/** Two spaces between words, and a small letter: names, paths and options alone are no message. */
const SAYS = /[a-z].* .* /s;

/** The text of an expression, or `undefined` where no part of it is written out. */
function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    return left === undefined && right === undefined ? undefined : `${left ?? "…"}${right ?? "…"}`;
  }
  return undefined;
}

function messagesOf(file: string): Message[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const found: Message[] = [];
  const visit = (node: ts.Node): void => {
    const text = ts.isExpression(node) ? textOf(node) : undefined;
    if (text !== undefined && SAYS.test(text)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      found.push({ file, line, text });
    }
    // A message inside a hole of another is one of its own; parts of a sum are not.
    if (text === undefined || ts.isTemplateExpression(node)) ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Everything that the program says in sentences, by file and line; run at the project's root. */
export const collectedMessages = (): Message[] =>
  ROOMS.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/(^|\/)test\//.test(file))
      .sort()
      .flatMap((file) => messagesOf(join(room, file))),
  );
