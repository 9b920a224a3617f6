/** `2026-11-24 16:05 UTC`. */
export const dateText = (at: string): string =>
  `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** The day of now in UTC: `2026-11-24`. */
export const today = (): string => new Date().toISOString().slice(0, 10);
