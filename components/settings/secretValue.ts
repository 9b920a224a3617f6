/** Words that make a variable's name one of a secret. */
const SECRET_WORD =
  /^(TOKEN|KEY|APIKEY|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PWD|CREDENTIAL|CREDENTIALS|PAT)$/;
/** A last word that makes the variable a reference to a secret, or no secret at all. */
const REFERENCE = /^(FILE|PATH|DIR|NAME|ENV|HEADER|TYPE|ID|URL|LENGTH|TTL|EXPIRY)$/;

/** `true` for `HF_TOKEN` and `litellm_master_key`; not for `HF_TOKEN_PATH`, `MAX_TOKENS` or `SSH_PUBLIC_KEY`. */
export function isSecretName(name: string): boolean {
  const words = name.toUpperCase().split(/[^A-Z0-9]+/);
  if (REFERENCE.test(words.at(-1) ?? "") || words.includes("PUBLIC")) return false;
  // `PWD` alone is the working directory.
  return name !== "PWD" && name !== "OLDPWD" && words.some((word) => SECRET_WORD.test(word));
}

const PLACEHOLDERS = new Set(
  "placeholder dummy none null empty local unused ignored no-key nokey no-key-required not-needed not-used not-required changeme change-me x xxx true false 0 1".split(
    " ",
  ),
);

/** `true` for what stands where a program insists on a value: empty, `<API_KEY>`, `${VAR}`, `placeholder`, `EMPTY`. */
export function isPlaceholder(value: string): boolean {
  const text = value.trim();
  if (text === "" || /^<[^<>]*>$/.test(text) || /^\$(\w+|\{\w+\})$/.test(text)) return true;
  const word = text.toLowerCase().replace(/_/g, "-").replace(/^sk-/, "");
  return PLACEHOLDERS.has(word) || /(^|-)placeholder(-|$)/.test(word);
}
