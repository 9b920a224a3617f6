/** Fewest characters of a key that people on a network can try to guess. */
const SHORTEST_KEY = 20;

/**
 * What is wrong with the key of a service on the network; `undefined` for a good one. The words
 * never hold the key.
 */
export function keyFault(value: string): string | undefined {
  if (value === "") return "is not set";
  if (/\s/.test(value)) return "holds a blank or a line break";
  if (/placeholder|^<.*>$|^\$/i.test(value)) return "is a placeholder";
  return value.length < SHORTEST_KEY ? `has fewer than ${SHORTEST_KEY} characters` : undefined;
}

/** The same in POSIX sh: sets `wrong` for the value of `$key`. */
export const KEY_CHECK_SH = `case $key in
  '') wrong='is not set' ;;
  *[[:space:]]*) wrong='holds a blank or a line break' ;;
  *[Pp][Ll][Aa][Cc][Ee][Hh][Oo][Ll][Dd][Ee][Rr]* | '<'*'>' | '$'*) wrong='is a placeholder' ;;
  *) [ "\${#key}" -ge ${SHORTEST_KEY} ] && wrong='' || wrong='has fewer than ${SHORTEST_KEY} characters' ;;
esac`;

/** Command that sets a good key. */
export const newKey = (variable: string): string => `export ${variable}=$(openssl rand -hex 32)`;
