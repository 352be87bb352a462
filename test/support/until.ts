/** Whether the attempt succeeded, for {@link until}. */
export function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

const shortestPauseMs = 5;
const longestPauseMs = 100;
/** Of a check that is dear, such as one that starts a process. */
const longestPauseOfDearMs = 1_000;

/**
 * Polls until `check` holds: often at first, then after pauses of a tenth of the time waited, or of twice what the check took, so that a
 * long wait leaves the processor to the awaited work. The failure names the awaited state, and may show the actual one. For effects that arrive by
 * themselves; never use it as a pause. Shorter than the time limits of tests, so that the failure of a test names what it waited
 * for.
 */
export async function until(
  what: string | (() => string),
  check: () => boolean | Promise<boolean>,
  timeoutMs = 200_000,
): Promise<void> {
  const begun = performance.now();
  let asked = begun;
  while (!(await check())) {
    const waited = performance.now() - begun;
    const took = performance.now() - asked;
    if (waited > timeoutMs) {
      const awaited = typeof what === 'string' ? what : what();
      throw new Error(`after ${timeoutMs} ms still waiting until ${awaited}`);
    }
    const pauseMs = Math.max(
      Math.min(longestPauseMs, Math.max(shortestPauseMs, waited / 10)),
      Math.min(longestPauseOfDearMs, took * 2),
    );
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    asked = performance.now();
  }
}
