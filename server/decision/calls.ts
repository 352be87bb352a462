import { entryPointRules } from '../../core/entry-point/table.js';
import { decodeCalls, type DecodedCalls } from '../../core/userop/call-data.js';
import type { RequestFacts } from './facts.js';

/** The calls that the operation of a request makes its account execute, by the rows that count for it. */
export function decodeRequestCalls({
  chain,
  paymaster,
  profile,
  request: { op },
}: RequestFacts): DecodedCalls {
  const context = {
    account: op.sender,
    passesWholeOperation: entryPointRules[profile.entryPointVersion].passesWholeOperation,
    ofChain: chain.accountFunctions,
    ofPaymaster: paymaster.accountFunctions,
    modules: chain.accountModules,
  };
  return decodeCalls(op.callData, context, op.callDataBytes);
}
