/** `true` when a URL carries a user and password. */
export function holdsCredentials(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]*:[^/?#\s]*@/i.test(url) || /[?&;]password=[^&;\s]/i.test(url);
}
