import type { RefusedCall } from '../errors.js';
import { decodedHex, type DecodedHex, type Hex } from '../units/hex.js';
import { accountFunctions } from './account-functions.js';
import { Undecodable, type Call, type CallRefusal } from './call.js';
import { callReaders } from './call-shapes.js';

/** The calls that callData makes the account execute. `calls` is empty for empty callData and for an empty batch. */
export type DecodedCalls =
  | {
      readonly outcome: 'calls';
      readonly calls: readonly Call[];
      /** The account's function, e.g. `execute(address,uint256,bytes)`; '' for empty callData. */
      readonly signature: string;
    }
  | {
      readonly outcome: 'refused';
      readonly reason: CallRefusal;
      readonly detail: string;
      readonly call?: RefusedCall;
    };

/**
 * Decodes callData (lowercase) by the table of account functions. Everything that is accepted means the same calls to
 * Solidity and to ethers; everything doubtful is refused. `known` holds the bytes if the caller has them. Hot path:
 * allocates per call, not per byte.
 */
export function decodeCalls(callData: Hex, known?: DecodedHex): DecodedCalls {
  if (callData === '0x') return { outcome: 'calls', calls: [], signature: '' };
  const selector = callData.slice(0, 10);
  const accountFunction = accountFunctions.get(selector);
  if (accountFunction === undefined) return refuseSelector(selector);
  const { shape, signature } = accountFunction;
  const decoded = decodedHex(callData, known);
  try {
    const calls = callReaders[shape](decoded, { start: 4, end: decoded.bytes.length });
    return { outcome: 'calls', calls, signature };
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    const { reason, message, call } = error;
    const refused = { outcome: 'refused', reason, detail: `${signature}: ${message}` } as const;
    return call === undefined ? refused : { ...refused, call };
  }
}

function refuseSelector(selector: string): DecodedCalls {
  return selector.length < 10
    ? {
        outcome: 'refused',
        reason: 'CALLDATA_UNDECODABLE',
        detail: `callData ${selector} is shorter than a selector`,
      }
    : {
        outcome: 'refused',
        reason: 'ACCOUNT_UNKNOWN',
        detail: `no known account executes calls with selector ${selector}`,
      };
}
