import { LRUCache } from 'lru-cache';
import type { EstimateRequest } from '../../core/userop/estimator.js';

/** Gas that an operation was seen to use, with plenty of limits. */
export type Needs = { readonly callGas: bigint; readonly preOpGas: bigint };

/**
 * What operations like this one needed before. An estimate confirms its limits by a last simulation, for which it
 * normally has to know the results of the first ones. Where an earlier operation of the same kind tells what to expect,
 * that simulation is made at once, with less than the limits that are then found; so a wrong expectation costs a call,
 * and never changes an estimate.
 */
export type EarlierNeeds = ReturnType<typeof createEarlierNeeds>;

const most = 1_000;

export function createEarlierNeeds() {
  const kept = new LRUCache<string, Needs>({ max: most });
  return {
    of: (request: EstimateRequest): Needs | undefined => kept.get(kindOf(request)),
    note: (request: EstimateRequest, needs: Needs): void => void kept.set(kindOf(request), needs),
  };
}

/** Operations of one kind: the account's function and its first argument, often the called contract; and sizes. */
function kindOf({ chainId, entryPoint, op, paymasterAndData = '0x' }: EstimateRequest): string {
  const call = op.callData.slice(0, 74);
  const factory = op.initCode.slice(0, 42);
  const sizes = [op.callData.length, op.initCode.length, paymasterAndData.length];
  return [chainId, entryPoint, factory, call, ...sizes].join(' ');
}
