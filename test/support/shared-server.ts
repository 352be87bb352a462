/**
 * A server that all test files of one worker share: started when the first file asks, and stopped with the worker. Files of one worker
 * run one after the other and share modules, so this state outlives a file on purpose. A start that failed is tried again by the next file.
 */
export function sharedServer<Server>(start: () => Promise<Server>): () => Promise<Server> {
  let started: Promise<Server> | undefined;
  return () => {
    started ??= start().catch((error: unknown) => {
      started = undefined;
      throw error;
    });
    return started;
  };
}
