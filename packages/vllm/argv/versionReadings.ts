/** Python packages whose versions tell what an image is. */
const PACKAGES = ["vllm", "transformers", "torch", "flashinfer-python", "litellm", "open-webui"];

/**
 * Reads package metadata, so that neither a GPU nor a minute is needed. Only a package without any,
 * such as a source tree on the path, is imported and asked.
 */
export const READ_VERSIONS = `
import contextlib, importlib, importlib.metadata, importlib.util, json, sys
def imported(name):
    if not name.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    with contextlib.redirect_stdout(sys.stderr):
        return getattr(importlib.import_module(name), "__version__", None)
found = {}
for name in ${JSON.stringify(PACKAGES)}:
    for read in (importlib.metadata.version, imported):
        try:
            version = read(name)
        except BaseException:
            continue
        if version:
            found[name] = str(version)
            break
print(json.dumps(found))
`.trim();

const MODULE = "(?:vllm|torch|transformers|flashinfer)";
const LABEL = String.raw`(?:"[\w .:=|-]*"|'[\w .:=|-]*')`;
const ATTRIBUTE = String.raw`(?:${MODULE}\.__version__|torch\.version\.cuda)`;
const VERSION = String.raw`(?:${ATTRIBUTE}|torch\.cuda\.is_available\(\)|(?:[\w.]+\.)?version\((?:"${MODULE}"|'${MODULE}')\))`;
/** A label with versions in it: only attributes, as a call in braces could be any. */
const FORMATTED = String.raw`f(?:"(?:[\w .:=|,/-]|\{${ATTRIBUTE}\})*"|'(?:[\w .:=|,/-]|\{${ATTRIBUTE}\})*')`;
const PRINTED = `(?:${LABEL}|${FORMATTED}|${VERSION})`;
const METADATA = String.raw`import importlib\.metadata(?: as \w+)?|from importlib import metadata(?: as \w+)?`;
const IMPORTS = String.raw`(?:import ${MODULE}(?:, ?${MODULE})*|from importlib\.metadata import version|${METADATA})`;
const PRINT = String.raw`print\(${PRINTED}(?:, ?${PRINTED})*\)`;

/**
 * The specification's own step (Versioning 5): each package is imported and its version printed, or
 * MISSING. `#` stands for the name of the loop's variable.
 */
const NAMES = String.raw`[[(](?:"${MODULE}"|'${MODULE}')(?:, ?(?:"${MODULE}"|'${MODULE}'))*[\])]`;
const IMPORTED = String.raw`(?:importlib\.import_module|__import__)\(\1\)`;
const MISSING = `(?:"MISSING"|'MISSING')`;
const LOOP = [
  String.raw`(?:import importlib\n)?for (\w+) in ${NAMES}:\n`,
  String.raw`(?: {2,4}|\t)try:(?:\n(?: {4,8}|\t\t)| )print\(\1, ?${IMPORTED}\.__version__\)\n`,
  String.raw`(?: {2,4}|\t)except(?: (?:Import|ModuleNotFound)Error| (?:Base)?Exception)?:(?:\n(?: {4,8}|\t\t)| )print\(\1, ?${MISSING}\)`,
].join("");

/** Whole texts that print versions: imports and prints, or the loop. */
const FORMS = new RegExp(
  `^(?:${IMPORTS}(?:(?:; ?|\\n)${IMPORTS})*(?:(?:; ?|\\n)${PRINT})+|${LOOP})$`,
);

/** Whether a text in Python does nothing but print the versions of packages. */
export const readsVersions = (text: string): boolean => text === READ_VERSIONS || FORMS.test(text);
