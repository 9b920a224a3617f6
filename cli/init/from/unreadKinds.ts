import { attempt } from "@local-serving/base/faults/defined";
import type { PublishedKind } from "./kind";
import type { Source } from "./source";

/** A kind that nothing is read of: it is named, with what to give instead. */
const unread = (
  kind: string,
  looksLike: PublishedKind["looksLike"],
  instead: string,
): PublishedKind => ({ kind, looksLike, servers: () => ({ servers: [], none: instead }) });

/** A text whose first line that is neither empty nor a remark begins so. */
const begins = (pattern: string) => new RegExp(`^(?:[ \\t]*(?:#.*)?\\n)*[ \\t]*(?:${pattern})`);

const FROM = begins("FROM\\s");
const OLLAMA = /^[ \t]*(?:PARAMETER|TEMPLATE|SYSTEM|ADAPTER|MESSAGE)\s/im;
const ARG_OR_FROM = begins("(?:ARG|FROM)\\s+\\S");
const DOCKER = /^FROM\s+\S/im;
/** A name with a colon, and behind it an indented line. */
const JUST_RECIPE = /^@?[\w-]+(?: [^\r\n:]+)?:(?!=)[^\r\n]*\n(?:[ \t]*\n)*[ \t]+\S/m;
const JUST_SETTING = /^(?:[\w-]+ *:=|set [a-z]+(?:-[a-z]+)+(?: *:=.*)?$)/m;
const MAKE_RULE = /^[\w.%/$()-][^\r\n:=#'"]*:(?!=)[^\r\n]*\n(?:[ \t]*\n)*\t[ \t]*\S/m;
const MAKE_VARIABLE = /\$\(\w+\)|^\.PHONY|^\w+ *[?:]=|^\t@/m;
const NIX = begins("(?:(?:rec|let|with|import)\\s|\\{[^{}=;]*\\}\\s*:|\\w+\\s*:\\s*\\{)");
const PYTHON = begins('(?:from\\s+[\\w.]+\\s+import\\s|import\\s+[\\w.]+(?:\\s|,)|""")');
const TERRAFORM = /^(?:resource|module|terraform|provider|variable|locals)\b[^\n=]*\{[ \t]*$/m;
const MARKUP = begins("<(?:!DOCTYPE|\\?xml|!--|[a-z]+[\\s>])");
const SECTION = begins("\\[\\[?[\\w.:@/ -]+\\]\\]?[ \\t]*\\n");
const VARIABLE = /^(?:export[ \t]+)?[A-Za-z_]\w*=(?:[^\s'"`;|&]*|"[^"]*"|'[^']*')[ \t]*(?:#.*)?$/;

/** Kinds that are told by words of their own, before any that is read. */
export const UNREAD_BY_WORDS: readonly PublishedKind[] = [
  unread(
    "a Modelfile of Ollama's",
    ({ text }) => FROM.test(text) && OLLAMA.test(text),
    "`ollama create` makes a model of it, and `simpleServer` of a stack file takes Ollama's place.",
  ),
  unread(
    "a Dockerfile",
    ({ text }) => ARG_OR_FROM.test(text) && DOCKER.test(text),
    "It makes an image and starts nothing. Give the `docker run` that starts the image, or the words of its ENTRYPOINT and CMD as one command.",
  ),
  unread(
    "a Makefile",
    ({ text }) => MAKE_RULE.test(text) && MAKE_VARIABLE.test(text) && !text.includes("{{"),
    "`make` fills in its variables: give what `make -n TARGET` prints.",
  ),
  unread(
    "a justfile",
    ({ text }) => JUST_RECIPE.test(text) && JUST_SETTING.test(text),
    "`just` fills in its variables: give what `just --dry-run RECIPE` prints.",
  ),
  unread(
    "a Nix file",
    ({ text }) => NIX.test(text) && /;[ \t]*$/m.test(text),
    "Nix makes a unit of it: give what `systemctl cat UNIT` prints on that machine.",
  ),
  unread(
    "a program in Python",
    ({ text }) => PYTHON.test(text),
    "An engine inside a program serves nobody else: give the `vllm serve MODEL` that is wanted.",
  ),
  unread(
    "a Terraform file",
    ({ text }) => TERRAFORM.test(text),
    "Give the command, or the compose file, that the machine is to run.",
  ),
  unread(
    "a page in HTML or XML",
    ({ text }) => MARKUP.test(text),
    "Give the command that stands in it.",
  ),
  unread(
    "a file of variables (.env)",
    ({ text }) => setsVariablesAlone(text),
    "It starts nothing: give the compose file, unit or script that reads it, and keep it where that one looks for it.",
  ),
];

/** Kinds that their form alone tells: what no other kind takes. */
export const UNREAD_BY_FORM: readonly PublishedKind[] = [
  unread(
    "a workflow or an action of GitHub's",
    (source) =>
      (source.keys.has("jobs") && source.keys.has("on")) ||
      (source.keys.has("runs") && /^\s+using:/m.test(source.text)),
    "Give the command of the step that starts the server.",
  ),
  unread(
    "a YAML file of a kind that isn't read here",
    isYaml,
    "Give the command of the server, or what another program makes of this file: `helm template` prints the manifest of a chart with its values.",
  ),
  unread(
    "a JSON file of a kind that isn't read here",
    ({ text }) => /^\s*[[{]/.test(text) && attempt(() => JSON.parse(text) as unknown) !== undefined,
    "Give the command of the server, or what `docker inspect CONTAINER` prints.",
  ),
  unread(
    "a file of settings in sections",
    ({ text }) => SECTION.test(text) && /^[ \t]*[\w.-]+[ \t]*=/m.test(text),
    "Give the command that it has for the server.",
  ),
];

/** Whether a text has two variables or more, and nothing else. */
function setsVariablesAlone(text: string): boolean {
  const lines = text.split("\n").map((line) => line.trim());
  const told = lines.filter((line) => line !== "" && !line.startsWith("#"));
  return told.length > 1 && told.every((line) => VARIABLE.test(line));
}

/** Whether a text is a map or a list of YAML. One line alone may be a command. */
function isYaml(source: Source): boolean {
  const { text, keys } = source;
  const isList = begins("- +\\S").test(text);
  const lines = text.trim().split("\n", 2).length;
  if (lines < 2 || /^\s*[[{]/.test(text) || (keys.size === 0 && !isList)) return false;
  const documents = attempt(() => source.documents());
  return documents?.some((document) => Object.keys(document).length > 0) === true;
}
