import { startRpc, type RpcHost, type RpcHostOptions } from '../build/rpc.js';
import { useStarted } from './use-started.js';

/** The rpc role of {@link startRpc} for all tests of a file, in the mode of this run. */
export function useRpc(options?: RpcHostOptions): RpcHost {
  return useStarted(() => startRpc(options));
}
