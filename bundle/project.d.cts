export function projectAbove(from: string): string | undefined;
