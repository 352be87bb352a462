import { DomainError } from '../../core/errors.js';

/** Port: decides which of several operators writes. The embedded one always leads; on Kubernetes it is a Lease. */
export type Leader = {
  start(): void;
  /** Resolves when this process leads for the first time. */
  readonly elected: Promise<void>;
  /** Resolves when this process no longer leads; it never leads again, and the process should end. */
  readonly lost: Promise<void>;
  /** Asked before each write: false as soon as another process may lead. */
  mayWrite(): boolean;
  /** Hands leadership over; may be called twice. */
  stop(): Promise<void>;
};

/** For a process that runs alone with its stores. */
export function alwaysLeader(): Leader {
  return {
    start: () => {},
    elected: Promise.resolve(),
    lost: new Promise(() => {}),
    mayWrite: () => true,
    stop: () => Promise.resolve(),
  };
}

/** The functions of a port; each is refused as soon as another process may lead. */
export function whileLeading<T extends object>(leader: Leader, port: T): T {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]): unknown => {
        if (leader.mayWrite()) return Reflect.apply(member, target, args);
        return Promise.reject(new DomainError('UNAVAILABLE', 'this operator has lost the lead'));
      };
    },
  });
}
