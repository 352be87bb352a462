/**
 * Port: which replica follows a chain. It saves work and is no safety: the cursor's compare-and-set lets one step
 * through, whoever believes to hold the lease.
 */
export type FollowerLease = {
  /** True when this process follows the chain now: takes the lease if it is free, renews it if it is held already. */
  hold(chainId: number): Promise<boolean>;
  /** Gives the lease back, so that another replica need not wait for its end; nothing if it is not held. */
  release(chainId: number): Promise<void>;
};

/** For a usage store that only one process uses. */
export const soleFollower: FollowerLease = {
  hold: async () => true,
  release: async () => {},
};
