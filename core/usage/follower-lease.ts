/**
 * Port: which replica follows a chain. The lease only saves work and guarantees nothing: the compare-and-set on the
 * cursor lets a single step through, no matter which replicas believe that they hold the lease.
 */
export type FollowerLease = {
  /** True when this process follows the chain now: takes the lease if it is free, renews it if it is held already. */
  hold(chainId: number): Promise<boolean>;
  /**
   * Gives the lease back, so that another replica need not wait until it expires. Does nothing if the lease is not
   * held.
   */
  release(chainId: number): Promise<void>;
};

/** For a usage store that only one process uses. */
export const soleFollower: FollowerLease = {
  hold: async () => true,
  release: async () => {},
};
