/** Runs one pass at a time. A request during a pass causes one more pass after it. */
export function createPasses(pass: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let isWanted = false;
  let isStopped = false;
  let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined;

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      clearTimeout(timer?.handle);
      timer = undefined;
      await pass();
    }
    running = undefined;
  }

  function now(): Promise<void> {
    if (isStopped) return Promise.resolve();
    isWanted = true;
    running ??= run();
    return running;
  }

  return {
    /** Resolves when a pass that began after the call has ended. */
    now,
    /** Only the earliest request since the last pass counts, so that passes never multiply. */
    after: (delayMs: number): void => {
      const at = performance.now() + delayMs;
      if (isStopped || (timer && timer.at <= at)) return;
      clearTimeout(timer?.handle);
      timer = { at, handle: setTimeout(() => void now(), delayMs) };
    },
    /** Waits for the current pass; no other pass begins afterwards. */
    stop: async (): Promise<void> => {
      isStopped = true;
      clearTimeout(timer?.handle);
      await running;
    },
  };
}
