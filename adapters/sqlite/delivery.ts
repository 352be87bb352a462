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
