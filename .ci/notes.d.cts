export function notesOf(changelog: string, version: string): string | undefined;
