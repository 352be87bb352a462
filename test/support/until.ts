/** Whether what was tried succeeded, for {@link until}. */
export function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

/**
 * Polls until `check` holds; the failure says what was awaited, and may say what was there instead. For effects that arrive by
 * themselves, never as a pause.
 */
export async function until(
  what: string | (() => string),
  check: () => boolean | Promise<boolean>,
  timeoutMs = 240_000,
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
