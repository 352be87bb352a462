/** Whether the attempt succeeded, for {@link until}. */
export function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

/**
 * Polls until `check` holds. The failure names the awaited state, and may show the actual one. For effects that arrive by
 * themselves; never use it as a pause. Shorter than the time limits of tests, so that the failure of a test names what it waited
 * for.
 */
export async function until(
  what: string | (() => string),
  check: () => boolean | Promise<boolean>,
  timeoutMs = 200_000,
  pauseMs = 5,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > deadline) {
      const awaited = typeof what === 'string' ? what : what();
      throw new Error(`after ${timeoutMs} ms still waiting until ${awaited}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
