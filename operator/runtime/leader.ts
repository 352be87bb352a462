/** Port: which of several operators writes. The embedded one always leads; with Kubernetes it is a Lease. */
export type Leader = {
  start(): void;
  /** Resolves when this process first leads. */
  readonly elected: Promise<void>;
  /** Resolves when it no longer does; it never leads again and the process should end. */
  readonly lost: Promise<void>;
  /** Asked before each write: false as soon as somebody else may lead. */
  mayWrite(): boolean;
  /** Hands leadership over; may be called twice. */
  stop(): Promise<void>;
};

/** For a process that is alone with its stores. */
export function alwaysLeader(): Leader {
  return {
    start: () => {},
    elected: Promise.resolve(),
    lost: new Promise(() => {}),
    mayWrite: () => true,
    stop: () => Promise.resolve(),
  };
}
