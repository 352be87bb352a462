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
