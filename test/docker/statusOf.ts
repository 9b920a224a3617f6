/**
 * The HTTP status of a URL, `undefined` where nothing answers. Docker's proxy takes connections to
 * a published port before the container listens and may never answer those, so each try has a
 * limit: poll this, not `fetch`.
 */
export async function statusOf(url: string, limitMilliseconds = 2000): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(limitMilliseconds) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}
