/** Whether what was tried succeeded, for {@link until}. */
export function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

/** Polls until `check` holds; the failure says what was awaited. For effects that arrive by themselves, never as a pause. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
  pauseMs = 5,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`after ${timeoutMs} ms still waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
