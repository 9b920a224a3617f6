import { redact } from "../../programs/redact";

/** What was raised, and where. */
export interface RaisedText {
  /** In one line, without secrets, such as `Unknown attention backend: 'FLASHINFR'`. */
  readonly said: string;
  /** The class of what was raised; "" where it was no exception. */
  readonly name: string;
  /** The same with its module, as Python prints it: `json.decoder.JSONDecodeError`. */
  readonly kind?: string;
  /** The line of the log that says it. */
  readonly line: string;
  readonly lineNumber: number;
  /** Where the traceback began, which the message ends. */
  readonly firstLineNumber: number;
  /** What was raised first, where the end came of that. */
  readonly first?: string;
  /** What was raised before it, where Python says that it comes of that. */
  readonly before?: readonly string[];
  /** Files of the frames, those of packages below their folder: `vllm/config/model.py`. */
  readonly files?: readonly string[];
  /** The folder that the packages are in. */
  readonly packages?: string;
  /**
   * The last frame of the traceback outside of Python itself, such as `vllm/config/model.py:628: x =
   * f(y)`.
   */
  readonly at?: string;
  /** The last argument of the server that its frames hand on, as a flag: `--uds`. */
  readonly argument?: string;
  /** The class whose values were refused: `SchedulerConfig`. */
  readonly validated?: string;
}

/** Characters of a message that are kept, and lines of it. */
const KEPT = 2000;
const MESSAGE_LINES = 12;
/** Lines of others that may stand between the lines of a traceback. */
const NOISE_LINES = 40;
/** Files of a chain that are kept, and what was raised in it. */
const FILES = 200;
const CHAIN = 8;

const BEGINS = /^(?:\s+[+|] )*(?:Exception Group )?Traceback \(most recent call last\):/;
const CHAINED =
  /^(?:During handling of the above exception|The above exception was the direct cause)/;
const FRAME = /^ {2}File "([^"]+)", line (\d+)/;
/** The first line that is left of a traceback whose heading somebody cut off. */
const HEADLESS = /^ {2}File "[^"]+", line \d+, in \S/;
/** A frame of Python itself, whatever called it, or one that hands on to compiled code. */
const OF_PYTHON = /^<|^\/\S*\/lib\/python[\d.]+\/|^torch\/_ops\.py:/;
/** An argument of the server, in the code of a frame. */
const ARGUMENT = /\bargs\.([a-z]\w*)\b(?!\()/;
/** The class of what was raised, with its module, and what it says. */
const RAISED = /^((?:[A-Za-z_]\w*\.)*(?:_*[A-Z]\w*|(?<=\.)[a-z]*error))(?:: ?(.*))?$/;
/** What a chain goes on with where the heading of its traceback is missing. */
const NEXT = /^(?:\w+\.)*\w*(?:Error|Exception)(?::|$)/;
/** What ends a message: other programs, and warnings that Python prints at the end. */
const OTHERS =
  /^(?:\/\S+:\d+: \w*Warning|\[[WIEF]\d{4}|\[rank\d|start gate:|Loading \S+ checkpoint|[\w.-]+ exited with code \d)/;

const VALIDATION = /^(\d+) validation errors? for (\S+)/;
/** The same without its class, and one of its fields alone. */
const VALIDATION_ALONE = /^(?:pydantic_core\S*: )?\d+ validation errors? for \w+$/;
const FIELD_ALONE = /^ *(?:(?:Value|Assertion) error, |Input should be )\S/;
const FIELD_NAME = /^[a-z][\w.]*$/;
/** What was raised, as the whole of a line. */
const ALONE = /^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b: \S/;
/** What pydantic says of one field, and what it adds to that. */
const OF_A_FIELD = /^ {2}(\S.*?)(?: \[type=.*)?$/;

/** Names that say nothing beside the message. */
const PLAIN = new Set([
  "ValueError",
  "RuntimeError",
  "OSError",
  "Exception",
  "TypeError",
  "ImportError",
  "ValidationError",
  "VLLMValidationError",
  "HFValidationError",
  "PanicException",
]);

/** One traceback of Python, line by line. */
export class Traceback {
  /** The line that names what was raised; "" before it came. */
  line = "";
  lineNumber = 0;
  /** The line before the first traceback of its chain. */
  readonly introduction: string;
  /** Line of what was raised just before, where Python says that this one comes of it. */
  readonly follows: number | undefined;
  /** What was raised first of all. */
  private readonly root: Traceback | undefined;
  /** What was raised before, in the order of the chain. */
  private readonly before: readonly string[] = [];
  private readonly files: Set<string>;
  private packages = "";
  private raw = "";
  private message: string[] = [];
  private length = 0;
  private noise = 0;
  private frame = "";
  private code = "";
  /** The last frame that isn't Python's own. */
  private own = { frame: "", code: "" };
  private argument = "";
  private isChained = false;

  constructor(
    private readonly firstLineNumber: number,
    introduction: string,
    previous: Traceback | undefined,
  ) {
    this.introduction = introduction;
    this.files = previous?.isChained === true ? previous.files : new Set();
    if (previous?.isChained !== true) return;
    this.follows = previous.lineNumber;
    this.root = previous.root ?? previous;
    this.before = [...previous.before, previous.named()].slice(-CHAIN);
    this.packages = previous.packages;
    this.introduction = previous.introduction;
  }

  static begins(text: string): boolean {
    return BEGINS.test(text);
  }

  /** Whether the line is of one that began before what is left of the log. */
  static isUnderWay(text: string): boolean {
    return HEADLESS.test(text);
  }

  /**
   * What was raised where no traceback shows it: a line that says it, behind one that may be the
   * field's name.
   */
  static withoutFrames(
    { text, before }: { readonly text: string; readonly before: string },
    raw: string,
    lineNumber: number,
  ): Traceback | undefined {
    const isField = FIELD_ALONE.test(text);
    if (!isField && !ALONE.test(text) && !VALIDATION_ALONE.test(text)) return undefined;
    const found = new Traceback(lineNumber, "", undefined);
    const heading = isField ? "ValidationError: 1 validation error for it" : undefined;
    const plain = VALIDATION_ALONE.test(text)
      ? `ValidationError: ${text.replace(/^.*: /, "")}`
      : text;
    found.take(heading ?? plain, raw, lineNumber);
    if (isField && FIELD_NAME.test(before)) found.take(before, raw, lineNumber);
    if (isField) found.take(`  ${text.trim()}`, raw, lineNumber);
    return found;
  }

  /** Whether its message goes on in the lines behind it, also where no traceback shows that. */
  get hasFields(): boolean {
    return VALIDATION.test(RAISED.exec(this.line)?.[2] ?? "");
  }

  /**
   * Takes a line of the same process: `raised` where it names what was raised, `other` where it
   * isn't part of the traceback, `next` where it is the next of the chain without a heading, `over`
   * where no more can come.
   */
  take(
    text: string,
    raw: string,
    lineNumber: number,
  ): "raised" | "part" | "other" | "next" | "over" {
    const plain = text.replace(/^ {2,}[+|](?: |$)/, "");
    if (this.line === "") return this.takeFrame(plain, raw, lineNumber);
    if (CHAINED.test(plain)) this.isChained = true;
    else if (this.isChained && NEXT.test(plain)) return "next";
    if (this.isChained) return "part";
    if (this.message.length >= MESSAGE_LINES || this.length > KEPT) return "over";
    // A blank line is part of many messages, and comes before what chains the next traceback.
    if (OTHERS.test(plain)) return "other";
    this.message.push(plain);
    this.length += plain.length;
    if (this.isShownBy(plain)) this.raw = raw;
    return "part";
  }

  private takeFrame(text: string, raw: string, lineNumber: number): "raised" | "part" | "over" {
    const frame = FRAME.exec(text);
    if (frame !== null) this.takePlace(frame[1], frame[2]);
    else if (/^\s/.test(text)) {
      if (this.code === "" && !/^[\s^~]*$/.test(text)) this.takeCode(text.trim());
    } else if (RAISED.test(text)) {
      [this.line, this.raw, this.lineNumber] = [text, raw, lineNumber];
      return "raised";
    } else if (text !== "" && ++this.noise > NOISE_LINES) return "over";
    return "part";
  }

  private takePlace(path = "", line = ""): void {
    const file = shortened(path);
    [this.frame, this.code] = [`${file}:${line}`, ""];
    // A checkout's own folder tells which one was loaded.
    if (CHECKED_OUT.test(path) && this.files.size < FILES) this.files.add(path);
    if (this.files.size < FILES) this.files.add(file);
    this.packages = PACKAGES.exec(path)?.[0] ?? this.packages;
  }

  private takeCode(code: string): void {
    const { frame } = this;
    this.code = code;
    if (!OF_PYTHON.test(frame)) this.own = { frame, code };
    this.argument = ARGUMENT.exec(code)?.[1] ?? this.argument;
  }

  /** A field's own line shows a validation error better than its heading. */
  private isShownBy(text: string): boolean {
    return (
      this.message.length <= 2 &&
      this.hasFields &&
      OF_A_FIELD.test(text) &&
      !this.raw.includes("[type=")
    );
  }

  /** The last frame that isn't Python's own, with what Python itself was doing for it. */
  private raisedAt(): string {
    const { own, frame, code } = this;
    // pydantic's own frame says nothing of the value.
    if (frame.startsWith("pydantic/")) return "";
    const isOwn = own.frame === "" || own.frame === frame;
    return (isOwn ? [frame, code] : [own.frame, own.code, code]).filter(Boolean).join(": ");
  }

  private named(): string {
    const [, kind = ""] = RAISED.exec(this.line) ?? [];
    return withName(kind.slice(kind.lastIndexOf(".") + 1), this.saying());
  }

  /** Its message, in one line. */
  private saying(): string {
    const [, , text = ""] = RAISED.exec(this.line) ?? [];
    return inOneLine(
      VALIDATION.test(text) ? validation(this.message) : [text, ...this.message].join(" "),
    );
  }

  told(): RaisedText {
    const [, kind = ""] = RAISED.exec(this.line) ?? [];
    const name = kind.slice(kind.lastIndexOf(".") + 1);
    const said = this.saying();
    const first = this.root?.told().said ?? "";
    const at = this.raisedAt();
    const argument = this.argument && `--${this.argument.replaceAll("_", "-")}`;
    const validated = VALIDATION.exec(RAISED.exec(this.line)?.[2] ?? "")?.[2];
    return {
      said: withName(name, said),
      name,
      kind,
      files: [...this.files],
      line: redact(this.raw).trim(),
      lineNumber: this.lineNumber,
      firstLineNumber: this.root?.firstLineNumber ?? this.firstLineNumber,
      ...(first === "" || said.includes(first) ? {} : { first }),
      ...(this.before.length === 0 ? {} : { before: this.before }),
      ...(this.packages === "" ? {} : { packages: this.packages }),
      ...(at === "" ? {} : { at: redact(at) }),
      ...(argument === "" ? {} : { argument }),
      ...(validated === undefined ? {} : { validated }),
    };
  }
}

/** A message, with the class of what was raised where that says more than the message. */
function withName(name: string, message: string): string {
  if (message === "") return name;
  return PLAIN.has(name) ? message : `${name}: ${message}`;
}

/** A message in one line, without secrets. */
export const inOneLine = (text: string): string =>
  redact(text.slice(0, KEPT)).replace(/\s+/g, " ").trim();

/** What pydantic says of the fields, each with the field's name where it has one. */
function validation(lines: readonly string[]): string {
  const said: string[] = [];
  let field = "";
  let message = "";
  for (const line of lines) {
    const isOpen = message !== "";
    if (!isOpen && !line.startsWith("  ") && !FIELD_ALONE.test(line)) field = line.trim();
    else if (!/^ {4}For further|^$/.test(line)) message = `${message} ${line.trim()}`.trim();
    if (!message.includes(" [type=")) continue;
    const [text = ""] = message.split(" [type=", 1);
    const plain = text.replace(/^(?:Value|Assertion) error, /, "");
    said.push(field === "" ? plain : `${field}: ${plain}`);
    [field, message] = ["", ""];
  }
  if (message !== "") said.push(message.replace(/^(?:Value|Assertion) error, /, ""));
  return said.join("; ");
}

/** The folder that Python's packages are in. */
const PACKAGES = /^.*\/(?:site|dist)-packages(?=\/)/;

/** A file of vLLM's sources, wherever they were checked out. */
const CHECKED_OUT =
  /^\/(?!.*-packages\/).*\/(?=vllm\/(?:v1|config|engine|entrypoints|model_executor|platforms|distributed|transformers_utils|attention|worker|executor|lora|multimodal|compilation|reasoning|tool_parsers|renderers|tokenizers)\/)/;

/** A file below the folder that Python's packages are in, or below that of vLLM's sources. */
const shortened = (path = ""): string =>
  path.replace(/^.*\/(?:site|dist)-packages\//, "").replace(CHECKED_OUT, "");
