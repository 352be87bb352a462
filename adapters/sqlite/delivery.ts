/**
 * Runs deliveries one after another. A delivery that is requested during another one (by a handler that writes) waits
 * its turn, so that all watchers see changes in the order in which they were made.
 */
export function createDelivery(): (deliver: () => void) => void {
  const queue: (() => void)[] = [];
  let isRunning = false;
  return (deliver) => {
    queue.push(deliver);
    if (isRunning) return;
    isRunning = true;
    try {
      for (let next = queue.shift(); next; next = queue.shift()) next();
    } finally {
      isRunning = false;
    }
  };
}

/**
 * Calls the handler of a watch. A handler that throws is a bug in the program, not in the write that caused the event:
 * it is reported as an uncaught exception, and neither the writer nor the other watchers are affected.
 */
export function callSafely(handler: () => void): void {
  try {
    handler();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
