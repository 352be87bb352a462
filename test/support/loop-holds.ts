/**
 * The work of this thread between two turns of the event loop until `work` resolves, in milliseconds of processor time: the
 * most, for so long nobody else is answered, and all. Time in which other processes have the processor does not count, so that
 * a busy machine changes little.
 */
export async function holdsOf(
  work: () => Promise<unknown>,
): Promise<{ readonly longestMs: number; readonly allMs: number }> {
  let longestMs = 0;
  let isOver = false;
  const begun = processorMs();
  let before = begun;
  const note = (): void => {
    const now = processorMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
  };
  const look = (): void => {
    if (isOver) return;
    note();
    setImmediate(look);
  };
  setImmediate(look);
  try {
    await work();
  } finally {
    note();
    isOver = true;
  }
  return { longestMs, allMs: processorMs() - begun };
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
