/** Returns what is kept of a text, or else what the function answers. */
export type KeptAnswers<Answer> = (about: string, answer: () => Answer) => Answer;

/**
 * Keeps what was answered about a text, since a stack asks about few of them many times. Where more
 * than `most` are kept, all are forgotten: a log has new ones without end.
 */
export function keptAnswers<Answer>(most: number): KeptAnswers<Answer> {
  const kept = new Map<string, Answer>();
  return (about, answer) => {
    const known = kept.get(about);
    if (known !== undefined) return known;
    const made = answer();
    if (kept.size === most) kept.clear();
    kept.set(about, made);
    return made;
  };
}
