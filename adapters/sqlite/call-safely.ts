/**
 * Calls the handler of a watch. One that throws is a mistake in the program, not in the write that it is told of: it is
 * reported as an uncaught exception, and neither the writer nor the other watchers notice.
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
