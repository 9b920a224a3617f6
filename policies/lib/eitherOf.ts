import { lowered } from "@local-serving/base/faults/quoting";

/** What mends a finding, in words; several settings are alternatives if each is enough. */
interface Remedy {
  readonly text: string;
  readonly isEnough: boolean;
}

/** Remedies as sentences. Of several that are each enough, one is to be chosen. */
export function eitherOf(remedies: readonly Remedy[]): string[] {
  const enough = remedies.filter(({ isEnough }) => isEnough);
  const [first] = enough;
  return remedies.map((each) => {
    const { text, isEnough } = each;
    if (!isEnough || enough.length < 2) return text;
    return `${each === first ? "Either" : "Or"} ${lowered(text)}`;
  });
}
